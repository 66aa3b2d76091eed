package circuits

import _ "sim/internal/testseed"
