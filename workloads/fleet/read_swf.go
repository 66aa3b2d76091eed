package fleet

import (
	"strconv"
	"strings"
)

// Fields of the standard workload format (Feitelson's Parallel Workloads Archive), from 0; -1 is not told.
const (
	swfSubmit    = 1 // s
	swfRun       = 3 // s
	swfAllocated = 4 // processors
	swfRequested = 7 // processors
	swfEstimate  = 8 // s
	swfFields    = 18
)

// readSWF reads logs in the standard workload format, a processor being a chip: the number that was asked for, or else
// allocated. The time that was asked for is the estimate. Lines that begin with ; are comments.
func readSWF(l *logReader) error {
	for text := range strings.Lines(string(l.data)) {
		l.line++
		fields := strings.Fields(text)
		if len(fields) == 0 || fields[0][0] == ';' {
			continue
		}
		if len(fields) != swfFields {
			return l.errorf("has %d fields; want %d; the line may be cut off", len(fields), swfFields)
		}
		var x [swfFields]float64
		for i, f := range fields {
			v, err := strconv.ParseFloat(f, 64)
			if err != nil {
				return l.errorf("field %d is no number; want one", i+1)
			}
			x[i] = v
		}
		chips := x[swfRequested]
		if chips <= 0 {
			chips = x[swfAllocated]
		}
		switch {
		case x[swfSubmit] < 0 || x[swfRun] < 0:
			l.log.NumUntimed++
			continue
		case chips <= 0:
			l.log.NumChipless++
			continue
		}
		shape, err := l.sliceForChips(strconv.FormatFloat(chips, 'f', -1, 64))
		if err == nil {
			err = l.addJob(x[swfSubmit], x[swfRun], shape)
		}
		if err == nil {
			err = l.checkOrder()
		}
		if err != nil {
			return err
		}
		if x[swfEstimate] > 0 {
			l.log.Jobs[len(l.log.Jobs)-1].Estimate = FromSeconds(x[swfEstimate])
		}
	}
	return nil
}
