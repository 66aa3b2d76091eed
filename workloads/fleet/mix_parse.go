package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseMix reads slices and how often they are asked for, such as "4x4x4 13.9, 4x4x8T 16". It fails as Mix.Check does,
// and on an entry that is not a slice and a number.
func ParseMix(text string) (Mix, error) {
	var m Mix
	for _, entry := range strings.Split(text, ",") {
		fields := strings.Fields(entry)
		if len(fields) != 2 {
			return nil, fmt.Errorf("fleet: %.40q is not a slice and how often it is asked for", entry)
		}
		shape, err := ParseShape(fields[0])
		if err != nil {
			return nil, err
		}
		weight, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return nil, fmt.Errorf("fleet: %.40q is not a number; it says how often %s is asked for", fields[1], shape)
		}
		m = append(m, Share{shape, weight})
	}
	return m, m.Check()
}

func mustMix(text string) Mix {
	m, err := ParseMix(text)
	if err != nil {
		panic(err)
	}
	return m
}
