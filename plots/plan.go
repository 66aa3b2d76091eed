package plots

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// planPicture is the plan of a collective as it is drawn. It goes in rounds: slots of whole chunks, or steps whose
// messages have lengths of their own.
type planPicture struct {
	*result.Schedule
	steps bool // rounds are steps
	set   []setUp
	of    []int   // by phase: which topology it is on
	start []int   // by phase: rounds before it
	total int     // rounds
	hops  [][]int // by phase and transmission: which hop of its chunk it is, from 1
	most  int     // hops of a chunk

	bytes   int64   // of the longest messages of all steps
	longest int64   // of a step
	end     float64 // of the steps, in seconds
	chunks  *chunks // nil where there are too many transmissions to draw, or none
}

// setUp is a topology that a plan sets up.
type setUp struct {
	links   [][2]int // in order of (from, to)
	offsets []int    // of a circulant, where they are few
	left    int      // links that are too many to draw
	rounds  int      // on it
}

// What one figure of a plan has room for.
const (
	phasesShown = 8  // topologies
	circleGPUs  = 24 // on a circle; a matrix shows more
	pictureHigh = 176
	smallHigh   = 142 // where there are four side by side
	fewOffsets  = 4   // named in a heading
)

// newPlanPicture prepares a plan that checkSchedule passes; nil for one without phases.
func newPlanPicture(s *result.Schedule) *planPicture {
	if s == nil || len(s.Phases) == 0 {
		return nil
	}
	p := &planPicture{Schedule: s, steps: s.InSteps()}
	whole := !p.steps
	for i := range s.Phases {
		ph := &s.Phases[i]
		if !ph.Reused || i == 0 {
			p.set = append(p.set, p.setUpOf(ph))
		}
		if !ph.Reused {
			p.end += s.DelayS
		}
		steps, bytes, timeS := ph.Totals()
		for _, r := range ph.Steps {
			p.longest = max(p.longest, r.Bytes)
		}
		n, busy := ph.Slots, 0
		if p.steps {
			n = steps
		}
		for _, b := range ph.Busy {
			busy += b
		}
		whole = whole && len(ph.Sent) >= busy
		p.of, p.start = append(p.of, len(p.set)-1), append(p.start, p.total)
		p.set[len(p.set)-1].rounds += n
		p.total, p.bytes, p.end = p.total+n, p.bytes+bytes, p.end+timeS
	}
	p.countHops()
	if whole && p.most > 0 {
		p.chunks = newChunks(p)
	}
	return p
}

// setUpOf is the topology of a phase: its links, or where they are left out those of its circulant, unless they are too
// many.
func (p *planPicture) setUpOf(ph *result.SchedulePhase) setUp {
	const mostLinks = 1 << 17 // of a circulant, that are written out to be drawn
	s := setUp{links: slices.Clone(ph.Edges)}
	if len(s.links) == 0 && p.GPUs*len(ph.Offsets) <= mostLinks {
		for u := range p.GPUs {
			for _, o := range ph.Offsets {
				s.links = append(s.links, [2]int{u, (u + o) % p.GPUs})
			}
		}
	}
	if len(s.links) == 0 {
		s.left = ph.Links
	}
	slices.SortFunc(s.links, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	if s.offsets = offsetsOf(s.links, p.GPUs); s.offsets == nil && len(ph.Offsets) <= fewOffsets {
		s.offsets = ph.Offsets
	}
	return s
}

// linksOf are the links of a GPU in a phase.
func (p *planPicture) linksOf(phase, gpu int) [][2]int {
	links := p.set[p.of[phase]].links
	at, _ := slices.BinarySearchFunc(links, gpu, func(l [2]int, g int) int { return l[0] - g })
	end := at
	for end < len(links) && links[end][0] == gpu {
		end++
	}
	return links[at:end]
}

// offsetsOf are what every GPU's links add to its number, mod n, in a circulant topology of few of them; nil in
// another.
func offsetsOf(links [][2]int, n int) []int {
	k := len(links) / n
	if k == 0 || k > fewOffsets || len(links) != k*n {
		return nil
	}
	var first []int
	for g := range n {
		var own []int
		for _, l := range links[g*k : (g+1)*k] {
			if l[0] != g {
				return nil
			}
			own = append(own, (l[1]-g+n)%n)
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

// countHops numbers the hops of each chunk, by the hops that its path to the sender had: a chunk may leave its source
// several times, as parts of an all-gather do.
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

// figure puts the topologies above what is sent when.
func (p *planPicture) figure(policy, subtitle string) sheet.Figure {
	s := sheet.Sheet{Title: "Plan of " + policy, Subtitle: strings.TrimPrefix(subtitle+"; "+p.cost(policy), "; ")}
	shown := min(len(p.set), phasesShown)
	block := sheet.Block{Cols: min(shown, 3), Height: pictureHigh}
	if shown > 3 {
		block.Cols, block.Height = 4, smallHigh
	}
	for i := range shown {
		block.Plots = append(block.Plots, sheet.Picture(p.head(i, sheet.Inside/vg.Length(block.Cols)-14), func(c draw.Canvas) { p.topology(c, i, block.Height) }))
	}
	s.Blocks = []sheet.Block{block}
	add := func(q *plot.Plot, height vg.Length) {
		s.Blocks = append(s.Blocks, sheet.Block{Plots: []*plot.Plot{q}, Height: height})
	}
	switch {
	case p.steps:
		s.Legend = p.legend()
		add(p.timePanel(), 45)
		add(p.bytesPanel(), 110)
	case p.chunks != nil:
		s.Legend = p.chunks.legend()
		s.Blocks = append(s.Blocks, p.chunks.block())
	}
	if busy := p.busyPanel(); busy != nil && !p.steps {
		add(busy, 80)
	}
	s.Notes = p.notes(shown)
	return s.Figure("plan-" + sheet.FileName(policy))
}

// cost words what the plan takes, d reconfigurations, the first topology among them, and the rounds; and then where it
// comes from, which may be long.
func (p *planPicture) cost(policy string) string {
	d := p.Reconfigurations()
	topologies := text.Plural(d, "topology")
	if d != 1 {
		topologies = fmt.Sprintf("%d topologies", d)
	}
	slots := fmt.Sprintf("%d × %s", p.total, sheet.Duration(p.SlotS, 4))
	set := fmt.Sprintf("%d × %s + ", d, sheet.Duration(p.DelayS, 4))
	var cost string
	switch all := float64(d)*p.DelayS + p.SlotS*float64(p.total); {
	case p.steps:
		cost = fmt.Sprintf("%s, %s; completion = reconfigurations + latencies + bytes / rate = %s%d × %s",
			topologies, text.Plural(p.total, "step"), set, p.total, sheet.Duration(p.LatencyS, 4))
		if p.RateBitsPerS > 0 {
			cost += fmt.Sprintf(" + %s / %s Gb/s", byteText(p.bytes, 4), sheet.Digits(p.RateBitsPerS/1e9, 4))
		}
		cost += " = " + sheet.Duration(p.end, 4)
	case p.Intervals:
		cost = fmt.Sprintf("switches on their own, %s between changes; completion = slots = %s = %s",
			text.Plural(d, "interval"), slots, sheet.Duration(p.SlotS*float64(p.total), 4))
	default:
		cost = fmt.Sprintf("%s, %s", topologies, text.Plural(p.total, "slot"))
		if p.SlotS > 0 && all <= sheet.DrawableLimit {
			cost += fmt.Sprintf("; completion = reconfigurations + slots = %s%s = %s", set, slots, sheet.Duration(all, 4))
		}
	}
	if o := sheet.Plain(p.Origin); o != "" && o != policy {
		cost += "; " + o
	}
	return cost
}

// head names a topology in a width: by its number and the offsets of a circulant, with its rounds where there is room.
func (p *planPicture) head(i int, width vg.Length) string {
	name, rounds := fmt.Sprintf("Topology %d", i+1), text.Plural(p.set[i].rounds, "slot")
	if len(p.set) == 1 {
		name = "Topology"
	}
	if p.steps {
		rounds = text.Plural(p.set[i].rounds, "step")
	}
	short := name + ": " + rounds
	if len(p.set[i].offsets) == 0 {
		return short
	}
	var offsets []string
	for _, o := range p.set[i].offsets {
		offsets = append(offsets, fmt.Sprintf("+%d", o))
	}
	long := fmt.Sprintf("%s (%s): %s", name, strings.Join(offsets, ", "), rounds)
	for _, text := range []string{long, strings.TrimPrefix(long, "Topology ")} {
		if sheet.Bold(sheet.HeadSize, sheet.Ink).Width(text) <= width {
			return text
		}
	}
	return short
}

// notes say what is left out and how rounds are read.
func (p *planPicture) notes(shown int) []string {
	var notes []string
	if n := len(p.set) - shown; n > 0 {
		notes = append(notes, fmt.Sprintf("The first %d of %d topologies are drawn; %d are left out.", shown, len(p.set), n))
	}
	if p.GPUs > circleGPUs {
		notes = append(notes, "A dot is a link from the GPU of its row to that of its column.")
	}
	switch {
	case p.steps:
		text := "A step is one message a link, and ends when the longest has come."
		if p.LatencyS > 0 && slices.ContainsFunc(p.Phases, func(ph result.SchedulePhase) bool { return slices.ContainsFunc(ph.Steps, p.short) }) {
			text += " In time, steps too short to tell apart have the colour of their bytes throughout."
		}
		notes = append(notes, text)
	case p.chunks != nil:
		notes = append(notes, p.chunks.reading())
	case p.share() > 0:
		notes = append(notes, "The plan has too many transmissions to draw one by one.")
	}
	return notes
}
