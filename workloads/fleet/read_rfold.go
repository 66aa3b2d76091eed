package fleet

import (
	"strconv"
	"strings"
)

// readRFold reads logs of RFold (github.com/shuoshuc/RFold). Rows have a number, the
// submission in seconds, a topology, a shape or number of chips, chips, and the duration
// in seconds. Lines starting with # are comments. A shape such as 4x4x8 is twisted if the
// topology is T3D_T.
func readRFold(l *logReader) error {
	return l.rows(6, func(row []string) error {
		submit, err1 := strconv.ParseFloat(row[1], 64)
		work, err2 := strconv.ParseFloat(row[5], 64)
		if err1 != nil || err2 != nil {
			return l.errorf("the submission or the duration is not a number of seconds; want seconds from 0")
		}
		shape, err := l.parseSlice(row[2], row[3])
		if err != nil {
			return err
		}
		if err := l.addJob(submit, work, shape); err != nil {
			return err
		}
		return l.checkOrder()
	})
}

// parseSlice parses a shape or a number of chips.
func (l *logReader) parseSlice(topology, text string) (Shape, error) {
	if !strings.Contains(text, "x") {
		return l.sliceForChips(text)
	}
	if topology == "T3D_T" {
		text += "T"
	}
	shape, err := ParseShape(text)
	if err != nil {
		return shape, l.errorf("the slice is invalid; want three sides such as 4x4x8, with T at the end if twisted")
	}
	return shape, nil
}
