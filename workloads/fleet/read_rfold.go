package fleet

import (
	"strconv"
	"strings"
)

// Fields of a row of RFold's logs, from 0.
const (
	rfoldSubmit   = 1 // in seconds
	rfoldTopology = 2
	rfoldShape    = 3 // shape, or number of chips
	rfoldDuration = 5 // in seconds
	rfoldFields   = 6 // number of fields per row
)

// readRFold reads logs of RFold (github.com/shuoshuc/RFold). Lines starting with # are
// comments. A shape such as 4x4x8 is twisted if the topology is T3D_T.
func readRFold(l *logReader) error {
	return l.rows(rfoldFields, func(row []string) error {
		submit, err1 := strconv.ParseFloat(row[rfoldSubmit], 64)
		work, err2 := strconv.ParseFloat(row[rfoldDuration], 64)
		if err1 != nil || err2 != nil {
			return l.errorf("the submission or the duration is not a number of seconds; want seconds from 0")
		}
		shape, err := l.parseSlice(row[rfoldTopology], row[rfoldShape])
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
	shape, err := ParseShape(text, &l.demand.Pod)
	if err != nil {
		return shape, l.errorf("the slice is invalid; want three sides such as 4x4x8, with T at the end if twisted")
	}
	return shape, nil
}
