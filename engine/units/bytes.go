package units

import (
	"fmt"
	"strconv"
)

// Bytes is an amount of data.
type Bytes int64

// byteUnits are ordered as String tries them.
var byteUnits = []struct {
	name  string
	scale int64
}{
	{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"kB", 1e3},
	{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1},
}

// ParseBytes reads a size such as "4MB", "64KiB" or "542B". It fails on
// anything else, on a negative size, on a fraction of a byte and on more than
// an int64 holds.
func ParseBytes(text string) (Bytes, error) {
	number, unit, wrong := split(text)
	if wrong == "" {
		for _, u := range byteUnits {
			if u.name != unit {
				continue
			}
			n, fits, isWhole := whole(number, u.scale)
			if fits && isWhole {
				return Bytes(n), nil
			}
			wrong = "it is too large"
			if !isWhole {
				wrong = "it is not a whole number of bytes"
			}
			break
		}
	}
	if wrong != "" {
		wrong = ", " + wrong
	}
	return 0, fmt.Errorf(`%s is no size%s: write bytes, such as "4MB" or "64KiB"`, clip(text), wrong)
}

// String formats b with the largest power of 1000, else of 1024, that divides
// it. ParseBytes reads back the same size.
func (b Bytes) String() string {
	for _, u := range byteUnits {
		if b != 0 && int64(b)%u.scale == 0 {
			return strconv.FormatInt(int64(b)/u.scale, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}
