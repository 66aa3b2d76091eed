package fleet

import (
	"strconv"
	"strings"
)

// Fields of the standard workload format (Feitelson's Parallel Workloads Archive), from
// 0. -1 means unknown.
const (
	swfSubmit    = 1  // in seconds
	swfRun       = 3  // in seconds
	swfAllocated = 4  // in processors
	swfRequested = 7  // in processors
	swfEstimate  = 8  // in seconds
	swfFields    = 18 // number of fields per line
)

// readSWF reads logs in the standard workload format. A processor is a chip. The job has
// the requested or else the allocated number of processors. The requested time is the
// estimate. Lines starting with ; are comments.
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
				return l.errorf("field %d is not a number", i+1)
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
