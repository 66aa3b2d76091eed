package plots

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// planPicture is the plan of a collective as it is drawn.
type planPicture struct {
	*result.Schedule
	links  [][][2]int // by phase: its links in order of (from, to)
	start  []int      // by phase: slots before it
	total  int        // slots
	hops   [][]int    // by phase and transmission: which hop of its chunk it is, from 1
	most   int        // hops of a chunk
	each   vg.Length  // height of a topology
	rounds *rounds    // nil where there are too many transmissions to draw, or none
}

// What one figure of a plan has room for.
const (
	phasesShown = 8  // topologies
	circleGPUs  = 24 // on a circle; a matrix shows more
	pictureHigh = 176
	smallHigh   = 142 // where there are four side by side
	busyHigh    = 120

	planSubtitle = 3 // lines: what is planned, what it costs, and by which construction
)

// planFigures shows each policy's plan: the topologies, and who sends what when.
func planFigures(_ *result.Document, d *result.Detail) []sheet.Figure {
	var out []sheet.Figure
	for i := range d.Policies {
		p := &d.Policies[i]
		if p.Schedule != nil && p.Schedule.InSteps() {
			out = append(out, newStepsPicture(p.Schedule).figure(p.Policy, d.Title))
		} else if pic := newPlanPicture(p.Schedule); pic != nil {
			out = append(out, pic.figure(p.Policy, d.Title))
		}
	}
	return out
}

// newPlanPicture prepares a plan that checkSchedule passes; nil for one without
// phases.
func newPlanPicture(s *result.Schedule) *planPicture {
	if s == nil || len(s.Phases) == 0 {
		return nil
	}
	p := &planPicture{Schedule: s}
	whole := true
	for i := range s.Phases {
		ph := &s.Phases[i]
		links := slices.Clone(ph.Edges)
		slices.SortFunc(links, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		p.links, p.start = append(p.links, links), append(p.start, p.total)
		p.total += ph.Slots
		busy := 0
		for _, b := range ph.Busy {
			busy += b
		}
		whole = whole && len(ph.Sent) >= busy
	}
	p.countHops()
	if whole && p.most > 0 {
		p.rounds = newRounds(p)
	}
	return p
}

// countHops numbers the hops of each chunk, by the hops that its way to the
// sender had: a chunk may leave its source several times, as parts of a gather do.
func (p *planPicture) countHops() {
	type place struct{ src, dst, chunk, gpu int }
	at := map[place]int{}
	for i := range p.Phases {
		hops := make([]int, len(p.Phases[i].Sent))
		for j, t := range p.Phases[i].Sent {
			hop := at[place{t[3], t[4], t[5], t[1]}] + 1
			at[place{t[3], t[4], t[5], t[2]}] = hop
			hops[j] = hop
			p.most = max(p.most, hop)
		}
		p.hops = append(p.hops, hops)
	}
}

// mostSlots bounds the slots and the GPUs of a plan: sums stay exact.
const mostSlots = 1 << 40

// checkSchedule fails on a plan whose parts do not fit together. A nil plan
// passes.
func checkSchedule(s *result.Schedule, who string) error {
	if s == nil {
		return nil
	}
	if s.GPUs < 1 || s.GPUs > 1<<20 {
		return fmt.Errorf("the plan of %s has %d GPUs, where there can be 1..%d", who, s.GPUs, 1<<20)
	}
	if !(s.SlotS >= 0 && s.SlotS <= sheet.DrawableLimit) || !(s.DelayS >= 0 && s.DelayS <= sheet.DrawableLimit) {
		return fmt.Errorf("the plan of %s has slots of %g s and reconfigurations of %g s, which no figure can show", who, s.SlotS, s.DelayS)
	}
	if err := checkSteps(s, who); err != nil {
		return err
	}
	inside := func(g int) bool { return g >= 0 && g < s.GPUs }
	total := 0
	for i := range s.Phases {
		ph := &s.Phases[i]
		if ph.Slots < 0 || ph.Slots > mostSlots-total {
			return fmt.Errorf("phase %d of the plan of %s has %d slots, where a plan can have 0..%d", i, who, ph.Slots, mostSlots)
		}
		total += ph.Slots
		if len(ph.Busy) != 0 && len(ph.Busy) != ph.Slots {
			return fmt.Errorf("phase %d of the plan of %s says of %d slots how busy they are, of %d", i, who, len(ph.Busy), ph.Slots)
		}
		links, used := map[[2]int]int{}, map[[2]int]int{}
		for _, e := range ph.Edges {
			if !inside(e[0]) || !inside(e[1]) {
				return fmt.Errorf("phase %d of the plan of %s joins GPUs %d and %d of %d", i, who, e[0], e[1], s.GPUs)
			}
			links[e]++
		}
		for _, b := range ph.Busy {
			if b < 0 || b > len(ph.Edges) {
				return fmt.Errorf("phase %d of the plan of %s has %d busy links of %d", i, who, b, len(ph.Edges))
			}
		}
		for j, t := range ph.Sent {
			switch {
			case t[0] < 0 || t[0] >= ph.Slots || j > 0 && t[0] < ph.Sent[j-1][0]:
				return fmt.Errorf("transmission %d in phase %d of the plan of %s is in slot %d of %d, or before the one listed before it", j, i, who, t[0], ph.Slots)
			case j > 0 && t[0] > ph.Sent[j-1][0]:
				clear(used)
			}
			link := [2]int{t[1], t[2]}
			used[link]++
			switch {
			case !inside(t[1]) || !inside(t[2]) || !inside(t[3]) || !inside(t[4]):
				return fmt.Errorf("transmission %d in phase %d of the plan of %s names a GPU beyond the %d that there are", j, i, who, s.GPUs)
			case used[link] > links[link]:
				return fmt.Errorf("transmission %d in phase %d of the plan of %s is one too many in slot %d on the %s from GPU %d to GPU %d", j, i, who, t[0], sheet.Plural(links[link], "link"), t[1], t[2])
			}
		}
	}
	return nil
}

// arrange sets how high pictures of so many topologies are, and returns the columns and rows that they stand in.
func (p *planPicture) arrange(shown int) (columns, rows int) {
	columns = min(shown, 3)
	p.each = pictureHigh
	if shown > 3 {
		columns, p.each = 4, smallHigh
	}
	return columns, (shown + columns - 1) / columns
}

// figure puts the topologies above the rounds, and how busy links are below.
func (p *planPicture) figure(policy, subtitle string) sheet.Figure {
	s := sheet.Sheet{Title: "Plan of " + policy, Subtitle: strings.TrimPrefix(subtitle+"; "+p.cost(policy), "; "), SubtitleLines: planSubtitle}
	shown := min(len(p.Phases), phasesShown)
	columns, rows := p.arrange(shown)
	const above = sheet.HeadRoom + sheet.Gutter // and below: a panel's own
	type part struct {
		sheet.Panel
		high vg.Length
	}
	parts := make([]part, 0, shown+2)
	for i := range shown {
		parts = append(parts, part{sheet.Panel{
			Head: p.head(i), X0: float64(i%columns) / float64(columns), X1: float64(i%columns+1) / float64(columns),
			Paint: func(c draw.Canvas) { p.topology(c, i) },
		}, p.each + above})
	}
	body := (p.each + above) * vg.Length(rows)
	if r := p.rounds; r != nil {
		s.Legend = r.legend()
		parts = append(parts, part{sheet.Panel{Head: r.head(), X1: 1, Paint: r.paint}, r.high() + above})
		body += r.high() + above
	}
	if p.rounds == nil || p.rounds.some {
		if busy, ok := p.busy(); ok {
			parts = append(parts, part{busy, busyHigh + above})
			body += busyHigh + above
		}
	}
	top := vg.Length(0)
	for i, q := range parts {
		q.Y0, q.Y1 = float64(top/body), float64((top+q.high)/body)
		s.Panels = append(s.Panels, q.Panel)
		if i >= shown-1 || i%columns == columns-1 {
			top += q.high
		}
	}
	s.Notes = p.notes(shown)
	return s.Figure("plan-"+sheet.FileName(policy), s.Frame()+body)
}

// cost words what the plan takes, d reconfigurations, the first topology among
// them, and the slots; and then where it comes from, which may be long.
func (p *planPicture) cost(policy string) string {
	d := len(p.Phases)
	var parts, by []string
	if o := sheet.Plain(p.Origin); o != "" && o != policy {
		by = append(by, o)
	}
	if p.Intervals {
		parts = append(parts, fmt.Sprintf("switches on their own, %s between changes", sheet.Plural(d, "interval")),
			fmt.Sprintf("completion slots × T = %d × %s = %s", p.total, sheet.Duration(p.SlotS), sheet.Duration(p.SlotS*float64(p.total))))
		return strings.Join(append(parts, by...), "; ")
	}
	parts = append(parts, fmt.Sprintf("%s, %s", topologies(d), sheet.Plural(p.total, "slot")))
	if all := float64(d)*p.DelayS + p.SlotS*float64(p.total); p.SlotS > 0 && all <= sheet.DrawableLimit {
		parts = append(parts, fmt.Sprintf("completion d R + slots × T = %d × %s + %d × %s = %s", d, sheet.Duration(p.DelayS), p.total, sheet.Duration(p.SlotS), sheet.Duration(all)))
	}
	return strings.Join(append(parts, by...), "; ")
}

func topologies(n int) string {
	if n == 1 {
		return "1 topology"
	}
	return strconv.Itoa(n) + " topologies"
}

// head names a phase's topology.
func (p *planPicture) head(i int) string {
	text := fmt.Sprintf("Topology %d", i+1)
	if len(p.Phases) == 1 {
		text = "Topology"
	}
	if offsets := p.offsets(i); offsets != nil {
		text += " (" + offsetNames(offsets) + ")"
	}
	return text + ": " + sheet.Plural(p.Phases[i].Slots, "slot")
}

// fewOffsets is how many a heading names.
const fewOffsets = 4

func offsetNames(offsets []int) string {
	var names []string
	for _, o := range offsets {
		names = append(names, fmt.Sprintf("+%d", o))
	}
	return strings.Join(names, ", ")
}

// offsets are what every GPU's links add to its number, mod n, in a circulant
// topology of few of them; nil in another.
func (p *planPicture) offsets(phase int) []int {
	links := p.links[phase]
	k := len(links) / p.GPUs
	if k == 0 || k > fewOffsets || len(links) != k*p.GPUs {
		return nil
	}
	var first []int
	for g := range p.GPUs {
		var own []int
		for _, l := range links[g*k : (g+1)*k] {
			if l[0] != g {
				return nil
			}
			own = append(own, (l[1]-g+p.GPUs)%p.GPUs)
		}
		slices.Sort(own)
		if g == 0 {
			first = own
		}
		if !slices.Equal(first, own) {
			return nil
		}
	}
	return first
}

// notes say what is left out and how rounds are read.
func (p *planPicture) notes(shown int) []string {
	var notes []string
	if n := len(p.Phases) - shown; n > 0 {
		notes = append(notes, fmt.Sprintf("The first %d of %d topologies are drawn; %d are left out.", shown, len(p.Phases), n))
	}
	if p.GPUs > circleGPUs {
		notes = append(notes, "A dot is a link from the GPU of its row to that of its column.")
	}
	switch {
	case p.rounds != nil:
		notes = append(notes, p.rounds.reading()...)
	case p.share() > 0:
		notes = append(notes, "The plan has too many transmissions to draw one by one.")
	}
	return notes
}

// share is the mean of how many links carry a chunk, over all slots.
func (p *planPicture) share() float64 {
	busy, links := 0.0, 0.0
	for i := range p.Phases {
		for _, b := range p.Phases[i].Busy {
			busy += float64(b)
			links += float64(len(p.Phases[i].Edges))
		}
	}
	if links == 0 {
		return math.NaN()
	}
	return busy / links
}
