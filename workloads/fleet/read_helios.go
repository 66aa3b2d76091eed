package fleet

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// readHelios reads logs of Helios (Hu et al., "Characterization and Prediction of Deep
// Learning Workloads in Large-Scale GPU Datacenters", SC 21) and Acme (Hu et al.,
// "Characterization of Large Language Model Development in the Datacenter", NSDI 24). The
// first row names the columns. The duration of a job is given, or it is the time from its
// start to its end.
func readHelios(l *logReader) error {
	var column map[string]int
	return l.rows(fieldsOfFirstRow, func(row []string) error {
		if column == nil {
			column = map[string]int{}
			for i, name := range row {
				column[name] = i
			}
			for _, name := range []string{"gpu_num", "submit_time"} {
				if _, ok := column[name]; !ok {
					return l.errorf("names no column %s; want the names of columns in the first row", name)
				}
			}
			return nil
		}
		cell := func(name string) string {
			if i, ok := column[name]; ok {
				return row[i]
			}
			return ""
		}
		if n, err := strconv.ParseFloat(cell("gpu_num"), 64); err == nil && n == 0 {
			l.log.NumChipless++
			return nil
		}
		shape, err := l.sliceForChips(cell("gpu_num"))
		if err != nil {
			return err
		}
		var times [3]time.Time // submitted, started, ended
		for i, name := range []string{"submit_time", "start_time", "end_time"} {
			if times[i], err = l.parseTime(cell(name)); err != nil {
				return err
			}
		}
		work, err := l.duration(times, cell("duration"))
		switch {
		case err != nil:
			return err
		case times[0].IsZero() || math.IsNaN(work):
			l.log.NumUntimed++
			return nil
		}
		return l.addDated(times[0], work, shape)
	})
}

// duration returns the duration of a job in seconds, or NaN if it is unknown. times are
// the times of submission, start and end. duration is the text of the duration, or "" if the
// log has none.
func (l *logReader) duration(times [3]time.Time, duration string) (float64, error) {
	known := slices.DeleteFunc(slices.Clone(times[:]), time.Time.IsZero)
	if !slices.IsSortedFunc(known, time.Time.Compare) {
		return 0, l.errorf("times go backwards: submitted, started and ended at %s", formatTimes(known))
	}
	if duration != "" {
		work, err := strconv.ParseFloat(duration, 64)
		if err != nil || work < 0 {
			return 0, l.errorf("the duration is not a number of seconds; want seconds from 0")
		}
		return work, nil // NaN in data frames means unknown
	}
	if times[1].IsZero() || times[2].IsZero() {
		return math.NaN(), nil
	}
	return times[2].Sub(times[1]).Seconds(), nil
}

// formatTimes lists dates for messages.
func formatTimes(list []time.Time) string {
	text := ""
	for i, t := range list {
		if i > 0 {
			text += ", "
		}
		text += t.Format(time.DateTime)
	}
	return text
}
