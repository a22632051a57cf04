#include "fake_gpu.h"
