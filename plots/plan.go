// This file lays out the figure of a collective's plan. The other files plan*.go draw
// its parts.

package plots

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// planPicture draws the plan of a collective on a scale-up domain: its topologies, and how the
// transmissions use them over time.
type planPicture struct {
	*result.Plan // phases, topologies and times
	// chunks is nil if there are no transmissions, or too many to draw.
	chunks *chunkStrips
}

// Limits and sizes of the topologies in a figure.
const (
	// maxTopologies is the number of topologies in a figure. A note has the number of omitted
	// ones.
	maxTopologies = 8
	// maxCircleGPUs is the maximum number of GPUs on a circle. Topologies with more are
	// matrices.
	maxCircleGPUs = 24
	pictureHeight = 176 // points
	// smallPictureHeight is in points, for four pictures per row.
	smallPictureHeight = 142
)

// newPlanPicture returns the picture of a plan, or nil if it has no phases. It contains the
// transmissions if the plan lists all of them.
func newPlanPicture(s *result.Schedule) *planPicture {
	if s == nil || len(s.Phases) == 0 {
		return nil
	}
	p := &planPicture{Plan: s.Plan()}

	// The transmissions can be drawn if the plan lists all of them.
	whole := !p.Steps && p.MaxHops > 0
	for i, part := range p.Parts {
		whole = whole && len(s.Phases[i].Sent) >= part.Busy
	}
	if whole {
		p.chunks = newChunkStrips(p)
	}

	return p
}

// linksOf returns the links that leave a GPU in a phase. The links of a topology are sorted by
// sender.
func (p *planPicture) linksOf(phase, gpu int) [][2]int {
	links := p.Topologies[p.Parts[phase].Topology].Links
	at, _ := slices.BinarySearchFunc(links, gpu, func(l [2]int, g int) int {
		return l[0] - g
	})
	end := at
	for end < len(links) && links[end][0] == gpu {
		end++
	}

	return links[at:end]
}

// figure implements policyFigure. The topologies are above the transmissions.
func (p *planPicture) figure(policy, subtitle string) (string, *sheet.Sheet) {
	s := &sheet.Sheet{
		Title:    "Plan of " + policy,
		Subtitle: strings.TrimPrefix(subtitle+"; "+p.cost(policy), "; "),
	}

	// Draw the topologies, three or four per row.
	shown := min(len(p.Topologies), maxTopologies)
	block := sheet.Block{Cols: min(shown, 3), Height: pictureHeight}
	if shown > 3 {
		block.Cols = 4
		block.Height = smallPictureHeight
	}

	for i := range shown {
		block.Plots = append(block.Plots,
			sheet.NewPicture(p.heading(i,
				sheet.ContentWidth/vg.Length(block.Cols)-14), func(c draw.Canvas) {
				p.topology(c, i, block.Height)
			}))
	}

	s.Blocks = []sheet.Block{block}
	p.notes(s, shown)

	// Draw the use of the links. A plan in steps has one message per link and step; a plan in
	// slots has one chunk per link and slot.
	const timeHeight, bytesHeight, busyHeight = 45, 110, 80 // points
	switch {
	case p.Steps:
		p.addLegend(s)
		s.Add(timeHeight, p.timePanel())
		s.Add(bytesHeight, p.bytesPanel())
		return "plan-" + sheet.FileName(policy), s

	case p.chunks != nil:
		p.chunks.addLegend(s)
		s.Blocks = append(s.Blocks, p.chunks.block())
	}

	if busy := p.busyPanel(); busy != nil {
		s.Add(busyHeight, busy)
	}
	return "plan-" + sheet.FileName(policy), s
}

// cost describes the completion time of the plan as a sum of reconfigurations (including the
// setup of the first topology) and slots or steps. It ends with the origin of the plan, which
// may be a long text.
func (p *planPicture) cost(policy string) string {
	// Prepare the terms of the sum.
	d := p.Reconfigurations()
	topologies := text.Plural(d, "topology")
	if d != 1 {
		topologies = fmt.Sprintf("%d topologies", d)
	}
	slots := fmt.Sprintf("%d × %s", p.Rounds, sheet.Duration(p.SlotS, 4))
	set := fmt.Sprintf("%d × %s + ", d, sheet.Duration(p.DelayS, 4))

	var cost string
	switch all := float64(d)*p.DelayS + p.SlotS*float64(p.Rounds); {
	case p.Steps:
		cost = fmt.Sprintf("%s, %s; completion = reconfigurations + latencies + bytes / rate = %s%d × %s",
			topologies, text.Plural(p.Rounds, "step"), set, p.Rounds,
			sheet.Duration(p.LatencyS, 4))
		if p.RateBitsPerS > 0 {
			cost += fmt.Sprintf(" + %s / %s Gb/s", byteText(p.Bytes, 4),
				sheet.Digits(p.RateBitsPerS/1e9, 4))
		}
		cost += " = " + sheet.Duration(p.EndS, 4)

	case p.Intervals:
		cost = fmt.Sprintf("switches on their own, %s between changes; completion = slots = %s = %s",
			text.Plural(d, "interval"), slots,
			sheet.Duration(p.SlotS*float64(p.Rounds), 4))

	default:
		cost = fmt.Sprintf("%s, %s", topologies, text.Plural(p.Rounds, "slot"))
		if p.SlotS > 0 && all <= sheet.DrawableLimit {
			cost += fmt.Sprintf("; completion = reconfigurations + slots = %s%s = %s",
				set, slots, sheet.Duration(all, 4))
		}
	}

	// Append the origin unless it is the name of the policy.
	if o := sheet.Plain(p.Origin); o != "" && o != policy {
		cost += "; " + o
	}
	return cost
}

// heading returns the heading of topology i: its number, the offsets of a circulant topology,
// and its slots or steps, as far as they fit into width.
func (p *planPicture) heading(i int, width vg.Length) string {
	name := fmt.Sprintf("Topology %d", i+1)
	rounds := text.Plural(p.Topologies[i].Rounds, "slot")
	if len(p.Topologies) == 1 {
		name = "Topology"
	}
	if p.Steps {
		rounds = text.Plural(p.Topologies[i].Rounds, "step")
	}

	short := name + ": " + rounds
	if len(p.Topologies[i].Offsets) == 0 {
		return short
	}
	var offsets []string
	for _, o := range p.Topologies[i].Offsets {
		offsets = append(offsets, fmt.Sprintf("+%d", o))
	}

	long := fmt.Sprintf("%s (%s): %s", name, strings.Join(offsets, ", "), rounds)

	// Take the longest heading that fits.
	for _, text := range []string{long, strings.TrimPrefix(long, "Topology ")} {
		if sheet.Bold(sheet.HeadingSize, sheet.Ink).Width(text) <= width {
			return text
		}
	}

	return short
}

// notes adds notes about omitted parts and about how to read the figure.
func (p *planPicture) notes(s *sheet.Sheet, shown int) {
	if n := len(p.Topologies) - shown; n > 0 {
		s.Note("The first %d of %d topologies are drawn; %d are left out.", shown,
			len(p.Topologies), n)
	}

	if p.GPUs > maxCircleGPUs {
		s.Note("A dot is a link from the GPU of its row to that of its column.")
	}
	switch {
	case p.Steps:
		text := "A step is one message a link, and ends when the longest has come."
		if p.LatencyS > 0 && slices.ContainsFunc(p.Phases,
			func(ph result.SchedulePhase) bool {
				return slices.ContainsFunc(ph.Steps, p.short)
			}) {
			text += " In time, steps too short to tell apart have the colour of their bytes throughout."
		}
		s.Note("%s", text)

	case p.chunks != nil:
		s.Note("%s", p.chunks.readingNote())
	case p.share() > 0:
		s.Note("The plan has too many transmissions to draw one by one.")
	}
}
