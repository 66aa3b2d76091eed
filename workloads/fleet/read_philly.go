package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"time"
)

// phillyJob is a job of Philly's log (Jeon et al., "Analysis of Large-Scale Multi-Tenant
// GPU Clusters for DNN Training Workloads", ATC 19).
type phillyJob struct {
	Submitted string `json:"submitted_time"`
	Attempts  []struct {
		Start  string `json:"start_time"`
		End    string `json:"end_time"`
		Detail []struct {
			GPUs []string `json:"gpus"`
		} `json:"detail"`
	} `json:"attempts"`
}

// readPhilly reads Philly's log, a list of jobs. A job requests the GPUs of its largest
// attempt. Its duration is the total of its attempts with known times.
func readPhilly(l *logReader) error {
	return entries(l, l.addPhillyJob)
}

// entries reads a JSON list one entry at a time. The current line is the last line of the
// entry.
func entries[T any](l *logReader, visit func(entry *T) error) error {
	d := json.NewDecoder(bytes.NewReader(l.data))
	counted := int64(0)
	// advanceTo counts the lines up to an offset.
	advanceTo := func(offset int64) {
		offset = min(max(counted, offset), int64(len(l.data)))
		l.line += bytes.Count(l.data[counted:offset], []byte("\n"))
		counted = offset
	}
	l.line = 1
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return l.errorf("is not a JSON list")
	}
	for d.More() {
		var entry T
		err := d.Decode(&entry)
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			advanceTo(math.MaxInt64)
			return l.errorf("is cut off in the middle of an entry")
		case errors.As(err, &syntax):
			advanceTo(syntax.Offset)
			return l.errorf("is not valid JSON here")
		}
		advanceTo(d.InputOffset())
		if err != nil {
			return l.errorf("ends an entry whose fields have other types than those of a log")
		}
		if err := visit(&entry); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		advanceTo(math.MaxInt64)
		return l.errorf("is cut off: the list does not end")
	}
	return nil
}

// addPhillyJob adds a job.
func (l *logReader) addPhillyJob(j *phillyJob) error {
	submit, err := l.parseTime(j.Submitted)
	if err != nil {
		return err
	}
	gpus, work, timed := 0, 0.0, 0
	for _, a := range j.Attempts {
		n := 0
		for _, x := range a.Detail {
			n += len(x.GPUs)
		}
		gpus = max(gpus, n)
		start, err1 := l.parseTime(a.Start)
		end, err2 := l.parseTime(a.End)
		switch {
		case err1 != nil || err2 != nil:
			return errors.Join(err1, err2)
		case start.IsZero() || end.IsZero():
			continue
		}
		const noDuration = "" // the log has only times
		span, err := l.duration([3]time.Time{submit, start, end}, noDuration)
		if err != nil {
			return err
		}
		work += span
		timed++
	}
	switch {
	case submit.IsZero() || timed == 0:
		l.log.NumUntimed++
		return nil
	case gpus == 0:
		l.log.NumChipless++
		return nil
	case timed < len(j.Attempts):
		l.log.NumPartial++
	}
	shape, err := l.sliceForChips(strconv.Itoa(gpus))
	if err != nil {
		return err
	}
	return l.addDated(submit, work, shape)
}
