package plots

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/scenarios/result"
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
	if !(s.LatencyS >= 0 && s.LatencyS <= drawableLimit) || !(s.RateBitsPerS >= 0 && s.RateBitsPerS <= drawableLimit) {
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
	if steps > 0 && !(end <= drawableLimit) {
		return fmt.Errorf("the plan of %s takes longer than a figure can show", who)
	}
	return nil
}

// figure puts the topologies above the time that steps take, and the bytes of each step below.
func (p *stepsPicture) figure(policy, subtitle string) Figure {
	s := sheet{title: "Plan of " + policy, subtitle: strings.TrimPrefix(subtitle+"; "+p.cost(policy), "; "), subtitleLines: planSubtitle, legend: p.legend()}
	set := p.setUp
	shown := min(len(set.Phases), phasesShown)
	columns, rows := set.arrange(shown)
	const above = headRoom + gutter // and below: a panel's own
	body := (set.each+above)*vg.Length(rows) + timeHigh + bytesHigh + 2*above
	place := func(q panel, top, high vg.Length) {
		q.y0, q.y1 = float64(top/body), float64((top+high)/body)
		s.panels = append(s.panels, q)
	}
	for i := range shown {
		place(panel{
			head: p.head(i, inside/vg.Length(columns)-gutter), x0: float64(i%columns) / float64(columns), x1: float64(i%columns+1) / float64(columns),
			paint: func(c draw.Canvas) { p.topology(c, i) },
		}, (set.each+above)*vg.Length(i/columns), set.each+above)
	}
	top := (set.each + above) * vg.Length(rows)
	place(p.timePanel(), top, timeHigh+above)
	place(p.bytesPanel(), top+timeHigh+above, bytesHigh+above)
	s.notes = p.notes(shown)
	return s.figure("plan-"+fileName(policy), s.frame()+body)
}

// cost words what the plan takes, and then what it is made of.
func (p *stepsPicture) cost(policy string) string {
	d := p.Reconfigurations()
	text := fmt.Sprintf("%s, %s; completion d R + steps × latency + bytes / rate = %d × %s + %d × %s",
		topologies(d), plural(p.steps, "step"), d, duration(p.DelayS), p.steps, duration(p.LatencyS))
	if p.RateBitsPerS > 0 {
		u := byteUnit(float64(p.bytes))
		text += fmt.Sprintf(" + %s %s / %s Gb/s", digits(float64(p.bytes)*u.per, 4), u.name, digits(p.RateBitsPerS/1e9, 4))
	}
	text += " = " + duration(p.end)
	if o := plain(p.Origin); o != "" && o != policy {
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
	least := name + ": " + plural(p.used[i], "step")
	offsets := p.setUp.offsets(i)
	if offsets == nil && len(p.setUp.Phases[i].Offsets) <= fewOffsets {
		offsets = p.setUp.Phases[i].Offsets
	}
	if offsets != nil {
		name += " (" + offsetNames(offsets) + ")"
	}
	long := name + ": " + plural(p.used[i], "step")
	short := strings.TrimPrefix(long, "Topology ")
	for _, text := range []string{long, short} {
		if bold(headSize, ink).Width(text) <= width {
			return text
		}
	}
	return least
}

// topology draws what is set up, or says that it is too large.
func (p *stepsPicture) topology(c draw.Canvas, i int) {
	if ph := &p.setUp.Phases[i]; len(ph.Edges) == 0 && ph.Links > 0 {
		style := aligned(sans(noteSize, dim), draw.XLeft, draw.YTop)
		c.FillText(style, point(c.Min.X, c.Max.Y-padding), fit(style, plural(ph.Links, "link")+", too many to draw", c.Max.X-c.Min.X))
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
			if inside*vg.Length(r.StepS/p.end) < 2*pixel {
				return true
			}
		}
	}
	return false
}

// byteUnits are ordered from the largest.
var byteUnits = []unit{{"PB", 1e-15}, {"TB", 1e-12}, {"GB", 1e-9}, {"MB", 1e-6}, {"KB", 1e-3}, {"B", 1}}

// byteUnit is the largest unit of which there is one or more.
func byteUnit(bytes float64) unit {
	for _, u := range byteUnits {
		if bytes*u.per >= 1 {
			return u
		}
	}
	return byteUnits[len(byteUnits)-1]
}
