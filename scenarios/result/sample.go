// This file reduces the detail of large runs, the data of figures, until readers
// accept it.

package result

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Sample divides a timeline into equal time windows. The number of windows is a power of two.
const (
	minWindows       = 64   // a sample shows the start and the end of the timeline, and parts in between
	maxWindows       = 8192 // bounds the memory of the lists of tasks; a screen has fewer columns
	windowsPerSample = 16   // about as many windows fit into a sample, within the limits above
)

// TaskInterval is a task as Sample sees it. Start and End may have any unit.
type TaskInterval struct {
	Start, End float64
	Critical   bool // on the critical path
}

// TaskSample is a selection of the tasks of a timeline.
type TaskSample struct {
	Selected []bool // indexed by task
	// Windows are time windows in which all tasks are selected, as fractions of the time until the
	// last task ends, in order of time.
	Windows [][2]float64
	// Stride is positive if no window fits: every Stride-th task is selected.
	Stride int
}

// Sample selects the critical path of a timeline of n tasks and at most max other tasks.
// The other tasks are all tasks in certain time windows of equal length. Windows are
// tried in bisection order: first, last, middle, quarters and so on. So the beginning and
// the end are always shown. A window that would exceed max is skipped.
func Sample(n, max int, task func(i int) TaskInterval) TaskSample {
	selected := make([]bool, n)
	end := 0.0
	for i := range n {
		end = math.Max(end, task(i).End)
	}
	if end == 0 {
		end = 1 // any positive value: all tasks are in the first window
	}

	// Choose the number of windows by the size of the sample.
	numWindows := minWindows
	for numWindows < maxWindows && numWindows/windowsPerSample*max < n {
		numWindows *= 2
	}
	perTime := float64(numWindows) / end

	// List the tasks of each window. A task overlaps with all windows between its start and its
	// end; the critical path is selected anyway.
	var others []int
	overlaps := make([][]int, numWindows) // tasks that overlap with each window
	for i := range n {
		t := task(i)
		if selected[i] = t.Critical; t.Critical {
			continue
		}
		others = append(others, i)
		for w := min(numWindows-1, int(t.Start*perTime)); w < numWindows && float64(w) <= t.End*perTime; w++ {
			overlaps[w] = append(overlaps[w], i)
		}
	}

	// Select windows in bisection order while their tasks fit.
	shown, some := make([]bool, numWindows), false
	for _, w := range bisection(numWindows) {
		added := 0
		for _, i := range overlaps[w] {
			if !selected[i] {
				added++
			}
		}
		if added > max {
			continue
		}
		max -= added
		shown[w], some = true, some || len(overlaps[w]) > 0
		for _, i := range overlaps[w] {
			selected[i] = true
		}
	}

	// No window with tasks fits, for example if all tasks run at once. Then select every
	// Stride-th task instead.
	s := TaskSample{Selected: selected}
	if !some && len(others) > 0 {
		s.Stride = (len(others) + max - 1) / max
		for i := 0; i < len(others); i += s.Stride {
			selected[others[i]] = true
		}
		return s
	}

	// Merge adjacent selected windows.
	for w, show := range shown {
		from, to := float64(w)/float64(numWindows), float64(w+1)/float64(numWindows)
		switch last := len(s.Windows) - 1; {
		case !show:
		case last >= 0 && s.Windows[last][1] == from:
			s.Windows[last][1] = to
		default:
			s.Windows = append(s.Windows, [2]float64{from, to})
		}
	}
	return s
}

// bisection returns 0, n-1, and then repeatedly the middles of the longest gaps between
// returned numbers.
func bisection(n int) []int {
	order := []int{0, n - 1}
	gaps := [][2]int{{0, n - 1}}
	for len(gaps) > 0 {
		g := gaps[0]
		gaps = gaps[1:]
		middle := (g[0] + g[1]) / 2
		if middle == g[0] {
			continue
		}
		order = append(order, middle)
		gaps = append(gaps, [2]int{g[0], middle}, [2]int{middle, g[1]})
	}
	return order
}

// maxDescribedWindows is the number of windows that Describe lists: about two lines of text.
// It counts the windows beyond.
const maxDescribedWindows = 8

// Describe states which tasks are missing. The times of tasks are relative to begin, and the last
// task ends at end, both in seconds.
func (s *TaskSample) Describe(begin, end float64) string {
	missing := 0
	for _, selected := range s.Selected {
		if !selected {
			missing++
		}
	}
	rest := fmt.Sprintf("one in %d other tasks", s.Stride)
	if s.Stride == 0 {
		var parts []string
		for i, w := range s.Windows {
			if i == maxDescribedWindows {
				parts = append(parts, fmt.Sprintf("and in %d more windows", len(s.Windows)-i))
				break
			}
			parts = append(parts, fmt.Sprintf("%.4g to %.4g s", begin+w[0]*(end-begin), begin+w[1]*(end-begin)))
		}
		rest = "all tasks from " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%d of %d tasks; shown are the critical path and %s", missing, len(s.Selected), rest)
}

// Limits of the sections of a written detail. They keep it well within the limits of
// readers: 256 MiB of text and 128 MiB of memory (decodeLimitsOf), 64 MiB of memory per
// list (maxListBytes) and 16 MiB of text per series (maxValueBytes).
const (
	maxDetailSpans  = 600_000       // of all simulations together: about 40 MB of memory, 45 MB of text
	maxDetailPoints = 1_500_000     // of all series together: about 24 MB of memory, 40 MB of text
	maxSeriesPoints = 500_000       // of one series: about 10 MB of text per list
	maxUncheckedLen = maxValueBytes // a text of this length or less meets every limit
)

// fit samples tracks and coarsens series until readers accept the detail, and returns the
// text of the file. If that is not sufficient, it removes the largest sections. Omitted
// then lists the missing data.
func (d *Detail) fit() ([]byte, error) {
	d.Policies = slices.Clone(d.Policies) // the caller's simulations keep all data
	for i := range d.Policies {
		d.Policies[i].Jobs = slices.Clone(d.Policies[i].Jobs)
	}
	d.Reference.Jobs = slices.Clone(d.Reference.Jobs)
	d.sampleTracks()
	d.coarsenSeries()
	for {
		text, err := marshal(d, "")
		if err != nil || len(text) <= maxUncheckedLen {
			return text, err
		}
		if decode(strings.NewReader(string(text)), new(Detail), decodeLimitsOf(d, unusedSize)) == nil {
			return text, nil
		}
		if !d.dropLargest() {
			return nil, fmt.Errorf("the figures' data of %d policies take %d MiB, more than can be read back", len(d.Policies), len(text)>>20)
		}
	}
}

// simulations calls visit for all simulations of d, including the simulations of jobs.
func (d *Detail) simulations(visit func(p *Simulation)) {
	var each func(p *Simulation)
	each = func(p *Simulation) {
		visit(p)
		for i := range p.Jobs {
			each(&p.Jobs[i])
		}
	}
	each(&d.Reference)
	for i := range d.Policies {
		each(&d.Policies[i])
	}
}

// sampleTracks limits the number of spans: every list of tracks above an even share is
// sampled.
func (d *Detail) sampleTracks() {
	var sizes []int
	lists := func(p *Simulation) []*[]Track { return []*[]Track{&p.Tracks, &p.Nodes} }
	d.simulations(func(p *Simulation) {
		for _, tracks := range lists(p) {
			sizes = append(sizes, numSpans(*tracks))
		}
	})
	max := evenShare(sizes, maxDetailSpans)
	d.simulations(func(p *Simulation) {
		for _, tracks := range lists(p) {
			if n := numSpans(*tracks); n > max {
				var what string
				*tracks, what = sampleSpans(*tracks, n, max)
				d.omit("timeline of %s: %s", p.name(), what)
			}
		}
	})
}

// evenShare returns the largest limit such that the sizes, each reduced to at most that
// limit, add up to at most total.
func evenShare(sizes []int, total int) int {
	slices.Sort(sizes)
	for i, n := range sizes {
		if share := total / (len(sizes) - i); n > share {
			return share
		}
		total -= n
	}
	return math.MaxInt
}

// numSpans returns the number of spans of all tracks.
func numSpans(tracks []Track) (n int) {
	for i := range tracks {
		n += len(tracks[i].Spans)
	}
	return n
}

// sampleSpans returns tracks with about max of their n spans, and a description of the
// sample.
func sampleSpans(tracks []Track, n, max int) ([]Track, string) {
	spans := make([]*Span, 0, n)
	end := 0.0
	for i := range tracks {
		for j := range tracks[i].Spans {
			s := &tracks[i].Spans[j]
			spans, end = append(spans, s), math.Max(end, s.EndS)
		}
	}

	// Tasks of the sample are numbered track by track, in the order of spans.
	sample := Sample(n, max, func(i int) TaskInterval {
		return TaskInterval{Start: spans[i].StartS, End: spans[i].EndS, Critical: spans[i].Critical}
	})
	out := slices.Clone(tracks)
	next := 0
	for i := range out {
		var stored []Span
		for _, s := range tracks[i].Spans {
			if sample.Selected[next] {
				stored = append(stored, s)
			}
			next++
		}
		out[i].Spans = stored
	}
	return out, sample.Describe(0, end)
}

// coarsenSeries bounds the number of points of each series and of all together.
func (d *Detail) coarsenSeries() {
	groups := func(p *Simulation) []*[]Series { return []*[]Series{&p.Demand, &p.Rates, &p.Circuits, &p.Links} }
	var sizes []int
	d.simulations(func(p *Simulation) {
		for _, group := range groups(p) {
			for i := range *group {
				sizes = append(sizes, len((*group)[i].TimeS))
			}
		}
	})
	max := min(maxSeriesPoints, evenShare(sizes, maxDetailPoints))
	d.simulations(func(p *Simulation) {
		coarse := 0
		for _, group := range groups(p) {
			if slices.ContainsFunc(*group, func(s Series) bool { return len(s.TimeS) > max }) {
				*group = slices.Clone(*group)
			}
			for i := range *group {
				if s := &(*group)[i]; len(s.TimeS) > max {
					*s = s.coarsen(max)
					coarse++
				}
			}
		}
		if coarse > 0 {
			d.omit("series of %s: %d are averages over intervals, with at most %d steps each", p.name(), coarse, max)
		}
	})
}

// coarsen returns s with about max steps. Consecutive steps are replaced by their average
// over time, so the integral is unchanged.
func (s Series) coarsen(max int) Series {
	n := len(s.TimeS) - 1 // steps
	group := (n + max - 1) / max
	out := Series{Name: s.Name, Group: s.Group}

	// Each average covers group steps. It covers more if they all begin at one time, so that its
	// length is positive.
	for i := 0; i < n; {
		j, sum := i, 0.0
		for ; j < n && (j < i+group || s.TimeS[j] == s.TimeS[i]); j++ {
			sum += s.Value[j] * (s.TimeS[j+1] - s.TimeS[j])
		}
		value := s.Value[i]
		if width := s.TimeS[j] - s.TimeS[i]; width > 0 {
			value = sum / width
		}
		out.TimeS, out.Value = append(out.TimeS, s.TimeS[i]), append(out.Value, value)
		i = j
	}
	out.TimeS, out.Value = append(out.TimeS, s.TimeS[n]), append(out.Value, s.Value[n])
	return out
}

// dropLargest removes the section with the longest text: a section of a simulation, or
// the windows. It returns false if no section is left.
func (d *Detail) dropLargest() bool {
	// consider stores v as the largest section if its text is longer than all texts before.
	const emptyLength = len("{}") // of a section without content, also "[]"
	largest, length, what := reflect.Value{}, emptyLength, ""
	consider := func(v reflect.Value, format string, args ...any) {
		if v.IsZero() {
			return
		}
		if text, err := json.Marshal(v.Interface()); err == nil && len(text) > length {
			largest, length, what = v, len(text), fmt.Sprintf(format, args...)
		}
	}

	// Sections are the windows, and all lists and pointers of simulations that are stored. Jobs
	// are visited as simulations of their own.
	consider(reflect.ValueOf(&d.Windows).Elem(), "time windows of transfers")
	d.simulations(func(p *Simulation) {
		v := reflect.ValueOf(p).Elem()
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i)
			if kind := f.Kind(); (kind == reflect.Slice || kind == reflect.Pointer) && name.Tag.Get("json") != "-" && name.Name != "Jobs" {
				section, _, _ := strings.Cut(name.Tag.Get("json"), ",")
				consider(f, "%s of %s", section, p.name())
			}
		}
	})
	if !largest.IsValid() {
		return false
	}
	largest.SetZero()
	const mebibyte = 1 << 20
	d.omit("%s: %d MiB are too large for a result", what, (length+mebibyte-1)/mebibyte) // rounded up
	return true
}

// name returns the policy, or "the reference" for the ideal fabric.
func (p *Simulation) name() string {
	if p.Policy == "" {
		return "the reference"
	}
	return p.Policy
}

// omit adds a line to Omitted.
func (d *Detail) omit(format string, args ...any) {
	d.Omitted = append(d.Omitted, fmt.Sprintf(format, args...))
}
