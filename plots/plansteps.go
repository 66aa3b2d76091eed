package plots

import (
	"fmt"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// stepsPicture is a plan whose phases go in steps, as it is drawn.
type stepsPicture struct {
	*result.Schedule
	setUp   *planPicture // a phase for each topology that is set up
	used    []int        // by topology: steps on it
	steps   int
	bytes   int64 // of the longest messages of all steps
	longest int64 // of a step
	end     float64
}

// Heights of the panels below the topologies, in points.
const (
	timeHigh  = 74
	bytesHigh = 150
)

// newStepsPicture prepares a plan in steps that checkSchedule passes.
func newStepsPicture(s *result.Schedule) *stepsPicture {
	p := &stepsPicture{Schedule: s}
	set := &result.Schedule{GPUs: s.GPUs, Degree: s.Degree}
	for i := range s.Phases {
		ph := &s.Phases[i]
		if !ph.Reused || i == 0 {
			set.Phases = append(set.Phases, result.SchedulePhase{Edges: p.links(ph), Links: ph.Links, Offsets: ph.Offsets})
			p.used = append(p.used, 0)
		}
		if !ph.Reused {
			p.end += s.DelayS
		}
		steps, bytes, timeS := ph.Totals()
		p.used[len(p.used)-1] += steps
		p.steps += steps
		p.bytes += bytes
		p.end += timeS
		for _, r := range ph.Steps {
			p.longest = max(p.longest, r.Bytes)
		}
	}
	p.setUp = newPlanPicture(set)
	return p
}

// mostLinks is the most links of a circulant that are written out to be drawn.
const mostLinks = 1 << 17

// links are the edges of a phase, or where they are left out those of its circulant, unless they are too many.
func (p *stepsPicture) links(ph *result.SchedulePhase) [][2]int {
	if len(ph.Edges) > 0 || p.GPUs*len(ph.Offsets) > mostLinks {
		return ph.Edges
	}
	var edges [][2]int
	for u := range p.GPUs {
		for _, o := range ph.Offsets {
			edges = append(edges, [2]int{u, (u + o) % p.GPUs})
		}
	}
	return edges
}

// checkSteps fails on steps that no figure can show.
func checkSteps(s *result.Schedule, who string) error {
	if !(s.LatencyS >= 0 && s.LatencyS <= sheet.DrawableLimit) || !(s.RateBitsPerS >= 0 && s.RateBitsPerS <= sheet.DrawableLimit) {
		return fmt.Errorf("the plan of %s has a latency of %g s and links of %g b/s, which no figure can show", who, s.LatencyS, s.RateBitsPerS)
	}
	steps, bytes, end := 0, 0.0, float64(s.Reconfigurations())*s.DelayS
	for i := range s.Phases {
		for _, r := range s.Phases[i].Steps {
			if r.Count < 1 || r.Count > mostSlots-steps {
				return fmt.Errorf("phase %d of the plan of %s has a run of %d steps, where a plan can have 1..%d", i, who, r.Count, mostSlots)
			}
			steps += r.Count
			bytes += float64(r.Count) * float64(r.Bytes)
			end += float64(r.Count) * r.StepS
			if r.Bytes < 0 || bytes > 1<<62 || !(r.StepS >= 0) {
				return fmt.Errorf("phase %d of the plan of %s has steps of %d B and %g s, which no figure can show", i, who, r.Bytes, r.StepS)
			}
		}
		for _, o := range s.Phases[i].Offsets {
			if o < 0 || o >= s.GPUs {
				return fmt.Errorf("phase %d of the plan of %s has an offset of %d among %d GPUs", i, who, o, s.GPUs)
			}
		}
		if s.Phases[i].Links < 0 {
			return fmt.Errorf("phase %d of the plan of %s has %d links", i, who, s.Phases[i].Links)
		}
	}
	if steps > 0 && !(end <= sheet.DrawableLimit) {
		return fmt.Errorf("the plan of %s takes longer than a figure can show", who)
	}
	return nil
}

// figure puts the topologies above the time that steps take, and the bytes of each step below.
func (p *stepsPicture) figure(policy, subtitle string) sheet.Figure {
	s := sheet.Sheet{Title: "Plan of " + policy, Subtitle: strings.TrimPrefix(subtitle+"; "+p.cost(policy), "; "), SubtitleLines: planSubtitle, Legend: p.legend()}
	set := p.setUp
	shown := min(len(set.Phases), phasesShown)
	columns, rows := set.arrange(shown)
	const above = sheet.HeadRoom + sheet.Gutter // and below: a panel's own
	body := (set.each+above)*vg.Length(rows) + timeHigh + bytesHigh + 2*above
	place := func(q sheet.Panel, top, high vg.Length) {
		q.Y0, q.Y1 = float64(top/body), float64((top+high)/body)
		s.Panels = append(s.Panels, q)
	}
	for i := range shown {
		place(sheet.Panel{
			Head: p.head(i, sheet.Inside/vg.Length(columns)-sheet.Gutter), X0: float64(i%columns) / float64(columns), X1: float64(i%columns+1) / float64(columns),
			Paint: func(c draw.Canvas) { p.topology(c, i) },
		}, (set.each+above)*vg.Length(i/columns), set.each+above)
	}
	top := (set.each + above) * vg.Length(rows)
	place(p.timePanel(), top, timeHigh+above)
	place(p.bytesPanel(), top+timeHigh+above, bytesHigh+above)
	s.Notes = p.notes(shown)
	return s.Figure("plan-"+sheet.FileName(policy), s.Frame()+body)
}

// cost words what the plan takes, and then what it is made of.
func (p *stepsPicture) cost(policy string) string {
	d := p.Reconfigurations()
	text := fmt.Sprintf("%s, %s; completion d R + steps × latency + bytes / rate = %d × %s + %d × %s",
		topologies(d), sheet.Plural(p.steps, "step"), d, sheet.Duration(p.DelayS), p.steps, sheet.Duration(p.LatencyS))
	if p.RateBitsPerS > 0 {
		u := byteUnit(float64(p.bytes))
		text += fmt.Sprintf(" + %s %s / %s Gb/s", sheet.Digits(float64(p.bytes)*u.Per, 4), u.Name, sheet.Digits(p.RateBitsPerS/1e9, 4))
	}
	text += " = " + sheet.Duration(p.end)
	if o := sheet.Plain(p.Origin); o != "" && o != policy {
		text += "; " + o
	}
	return text
}

// head names a topology in a width: by its number and the offsets of a circulant, with its steps where there is room.
func (p *stepsPicture) head(i int, width vg.Length) string {
	name := fmt.Sprintf("Topology %d", i+1)
	if len(p.used) == 1 {
		name = "Topology"
	}
	least := name + ": " + sheet.Plural(p.used[i], "step")
	offsets := p.setUp.offsets(i)
	if offsets == nil && len(p.setUp.Phases[i].Offsets) <= fewOffsets {
		offsets = p.setUp.Phases[i].Offsets
	}
	if offsets != nil {
		name += " (" + offsetNames(offsets) + ")"
	}
	long := name + ": " + sheet.Plural(p.used[i], "step")
	short := strings.TrimPrefix(long, "Topology ")
	for _, text := range []string{long, short} {
		if sheet.Bold(sheet.HeadSize, sheet.Ink).Width(text) <= width {
			return text
		}
	}
	return least
}

// topology draws what is set up, or says that it is too large.
func (p *stepsPicture) topology(c draw.Canvas, i int) {
	if ph := &p.setUp.Phases[i]; len(ph.Edges) == 0 && ph.Links > 0 {
		style := sheet.Aligned(sheet.Sans(sheet.NoteSize, sheet.Dim), draw.XLeft, draw.YTop)
		c.FillText(style, sheet.Point(c.Min.X, c.Max.Y-sheet.Padding), sheet.Fit(style, sheet.Plural(ph.Links, "link")+", too many to draw", c.Max.X-c.Min.X))
		return
	}
	p.setUp.topology(c, i)
}

// notes say what is left out and how the figure is read.
func (p *stepsPicture) notes(shown int) []string {
	var notes []string
	if n := len(p.used) - shown; n > 0 {
		notes = append(notes, fmt.Sprintf("The first %d of %d topologies are drawn; %d are left out.", shown, len(p.used), n))
	}
	if p.GPUs > circleGPUs {
		notes = append(notes, "A dot is a link from the GPU of its row to that of its column.")
	}
	text := "A step is one message a link, and ends when the longest has come."
	if p.LatencyS > 0 && p.merged() {
		text += " In time, steps too short to tell apart have the colour of their bytes throughout."
	}
	return append(notes, text)
}

// merged reports whether the strip of time has steps that cannot be told apart; its width is about that of the sheet.
func (p *stepsPicture) merged() bool {
	for i := range p.Phases {
		for _, r := range p.Phases[i].Steps {
			if sheet.Inside*vg.Length(r.StepS/p.end) < 2*sheet.Pixel {
				return true
			}
		}
	}
	return false
}

// byteUnits are ordered from the largest.
var byteUnits = []sheet.Unit{{Name: "PB", Per: 1e-15}, {Name: "TB", Per: 1e-12}, {Name: "GB", Per: 1e-9}, {Name: "MB", Per: 1e-6}, {Name: "KB", Per: 1e-3}, {Name: "B", Per: 1}}

// byteUnit is the largest unit of which there is one or more.
func byteUnit(bytes float64) sheet.Unit {
	for _, u := range byteUnits {
		if bytes*u.Per >= 1 {
			return u
		}
	}
	return byteUnits[len(byteUnits)-1]
}
