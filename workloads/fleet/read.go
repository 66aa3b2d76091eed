package fleet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ReadJobs reads a log of jobs in RFold's form (github.com/shuoshuc/RFold): rows of number, submission in seconds,
// topology, shape or chips, chips, and duration in seconds; lines that begin with # are comments. A shape such as 4x4x8
// is taken as it is, twisted where the topology is T3D_T; of chips alone, the least slice of the mix that has them.
// Bands and opting in are drawn as of other jobs. The times of jobs must not go backwards. It fails with the line.
func (d *Demand) ReadJobs(name string, data []byte) ([]Job, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment, r.FieldsPerRecord, r.ReuseRecord, r.TrimLeadingSpace = '#', 6, true, true
	draws := d.Jobs().(*drawn)
	var jobs []Job
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; want rows of number, submission (s), topology, shape, chips, duration (s)", name, err)
		}
		line, _ := r.FieldPos(0)
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))
		}
		submit, err1 := strconv.ParseFloat(row[1], 64)
		work, err2 := strconv.ParseFloat(row[5], 64)
		if err1 != nil || err2 != nil || !(submit >= 0 && submit <= Longest.Seconds()) || !(work >= 0 && work <= Longest.Seconds()) {
			return nil, wrong("submitted at %.20q s for %.20q s; want seconds from 0", row[1], row[5])
		}
		j := Job{Number: len(jobs), Submit: FromSeconds(submit), Work: max(Millisecond, FromSeconds(work))}
		if n := len(jobs); n > 0 && jobs[n-1].Submit > j.Submit {
			return nil, wrong("submitted at %g s, before the job above it; sort the jobs by submission", submit)
		}
		if strings.Contains(row[3], "x") {
			text := row[3]
			if row[2] == "T3D_T" {
				text += "T"
			}
			if j.Shape, err = ParseShape(text); err != nil {
				return nil, wrong("%v", err)
			}
		} else {
			chips, err := strconv.Atoi(row[3])
			if err != nil || chips < 1 {
				return nil, wrong("%.40q is neither a shape such as 4x4x8 nor a number of chips", row[3])
			}
			shape, ok := d.Mix.AtLeast(chips)
			if !ok {
				return nil, wrong("%d chips are more than any slice of the mix has", chips)
			}
			j.Shape = shape
		}
		draws.finish(&j)
		jobs = append(jobs, j)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s: holds no job", name)
	}
	return slices.Clip(jobs), nil
}
