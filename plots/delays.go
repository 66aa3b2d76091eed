// This file draws the distributions of packet delays.

package plots

import (
	"fmt"
	"slices"

	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// delaysFigure shows the cumulative distribution of the packet delays of each policy, with the
// means. If every policy was also measured at a common load, it shows the delays at that load.
func delaysFigure(_ *result.Document, d *result.Detail, add addFigure) {
	drawDelays(d, delayWords{"delays", "Delay of packets by policy", "share of packets", "", "Only packets that arrived count."}, add)
}

// messagesFigure shows the cumulative distribution of the completion times of messages under a
// transport.
func messagesFigure(_ *result.Document, d *result.Detail, add addFigure) {
	messages := *d
	messages.Policies = slices.Clone(d.Policies)
	for i := range messages.Policies {
		p := &messages.Policies[i]
		p.Delay, p.DelayShared, p.LoadShare = p.Messages, nil, 0
	}
	drawDelays(&messages, delayWords{"messages", "Completion time of messages by policy", "share of messages", "completion time", "A message ends when all its data have arrived."}, add)
}

// delayWords are the name and the texts of a figure of delays.
type delayWords struct{ name, title, label, time, note string }

// drawDelays draws the delays of all policies.
func drawDelays(d *result.Detail, words delayWords, add addFigure) {
	const (
		curve = 1000 // points per curve
		// The axis is logarithmic if the 99th percentile exceeds the median by the factor tail. A
		// linear axis would hide most of such a curve.
		tail = 20
	)

	// A chart of kind cdf draws samples. The quantiles of a policy serve as its samples.
	s := &result.Sweep{Name: d.Title}
	spec := &result.Plot{
		Kind:   "cdf",
		Y:      "delay_s",
		Series: "policy",
		Title:  words.title + ": cumulative distribution",
		YLabel: words.label,
		XLabel: words.time,
	}

	// shared reports whether all policies have delays at a common load. full is the policy whose
	// bottleneck is saturated at that load. left counts the policies without a line style.
	var legend []string
	left, shared, full := 0, true, ""

	for i := range d.Policies {
		p := &d.Policies[i]
		shared = shared && (p.Delay == nil || p.DelayShared != nil)
		if p.LoadShare >= 1 {
			full = p.Policy
		}
	}

	for i := range d.Policies {
		p := &d.Policies[i]

		// Choose the delays of the policy. at is the load, for the legend.
		delay, at := p.Delay, ""
		if shared && delay != nil {
			delay = p.DelayShared
			at = fmt.Sprintf(" at %s of its load", sheet.Percent(p.LoadShare))
		}

		delays := quantiles(delay, curve)
		if delays == nil {
			continue
		}
		if len(legend) == len(sheet.LineStyles) {
			left++
			continue
		}

		// Add the curve, the mark of the mean and the legend entry.
		s.Cells = append(s.Cells, result.Cell{
			Policy:  p.Policy,
			Samples: map[string][]float64{spec.Y: delays},
		})

		spec.Marks = append(spec.Marks, result.Mark{
			Label:  "mean",
			Series: p.Policy,
			Y:      delay.MeanS,
		})

		spec.LogX = spec.LogX || delay.P99S > tail*delay.P50S && delay.P50S > 0
		legend = append(legend, fmt.Sprintf("%s%s: mean %s, 99 %% within %s",
			p.Policy, at, sheet.Duration(delay.MeanS, 4),
			sheet.Duration(delay.P99S, 3)))
	}

	// Draw the chart. A linear axis starts at 0.
	if zero := 0.0; !spec.LogX {
		spec.YMin = &zero
	}
	page, err := chart.Sheet(spec, s, noTimings)
	if err != nil {
		// No policy has packets.
		return
	}
	for i, text := range legend {
		page.Legend[i].Text = text
	}
	// The first note of a cdf explains samples, which here are quantiles.
	page.Notes = append(page.Notes[1:], words.note)

	if shared && full != "" {
		page.Title = "Delay of packets by policy, all at one load: cumulative distribution"
		page.Note("All send at the rate at which the most loaded link under %s is "+
			"just full; the others could send more.", full)
	}

	if left > 0 {
		page.Note("The first %d of %d policies are shown.", len(legend),
			len(legend)+left)
	}

	add(words.name, page)
}

// minPlottedTime replaces shorter times in seconds. It is below the resolution of simulated
// time, and positive because logarithmic axes have no 0.
const minPlottedTime = 1e-15

// quantiles returns n delays in seconds that divide the packets into n equal groups, or nil
// without packets. Packets of a histogram bin are assumed to be evenly distributed between its
// lower end and its upper end or the maximum delay, whichever is smaller.
func quantiles(d *result.Delay, n int) []float64 {
	if d == nil {
		return nil
	}

	total := 0.0 // number of packets
	for _, b := range d.Bins {
		total += float64(b.Packets)
	}

	var out []float64
	before := 0.0 // number of packets in the preceding bins
	for _, b := range d.Bins {
		packets := float64(b.Packets)
		to := max(min(b.ToS, d.MaxS), b.FromS)
		for len(out) < n {
			k := float64(len(out)+1) / float64(n) * total
			if k > before+packets {
				break
			}

			at := b.FromS + (to-b.FromS)*(k-before)/packets
			out = append(out, max(at, minPlottedTime))
		}

		before += packets
	}

	return out
}
