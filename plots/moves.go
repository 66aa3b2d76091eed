// This file draws an iteration in which circuits move between pairs of pods.

package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// movesPicture shows an iteration in which circuits move. Each pod has two tracks: its data
// rate, and below it the circuits of its ports.
type movesPicture struct {
	sim  *result.Simulation
	pods int // number of pods shown
	// portRate is the bandwidth of a port in bits per second; 0 if unknown.
	portRate float64
	colors   []color.RGBA    // indexed by pair of pods
	history  *circuitHistory // circuits over time
}

// circuitHistory holds the circuits of each pair over an iteration. Iterations repeat, so
// circuits that still move at the end also move at the beginning.
type circuitHistory struct {
	// times has the start of each interval between changes in seconds, and the end of the
	// iteration.
	times []float64
	// carrying has the usable circuits and settingUp the circuits that are being set up, both
	// indexed by interval and pair.
	carrying, settingUp [][]int
}

// pairColors are the colours of pairs of pods. A pod of a pipeline has few neighbours, so
// these suffice. Pairs of DP peers are green, as synchronisation is.
var pairColors = []color.RGBA{sheet.Blue, sheet.SkyBlue, sheet.Purple, sheet.Orange,
	sheet.Vermillion}

// movingColor is the colour of circuits that are being set up.
var movingColor = color.RGBA{0x3a, 0x3a, 0x3a, 0xff}

// movesFigures adds a figure for each policy that moves circuits.
func movesFigures(_ *result.Document, d *result.Detail, add addFigure) {
	for i := range d.Policies {
		p := &d.Policies[i]
		if p.Topology == nil || len(p.Moves) == 0 || !(p.MakespanS > 0) {
			continue
		}
		m := &movesPicture{
			sim:      p,
			pods:     min(len(p.Topology.Pods), maxPods),
			portRate: portRate(d),
			history:  newCircuitHistory(p),
		}

		m.assignColors()
		add("moves-"+sheet.FileName(p.Policy), m.sheet())
	}
}

// newCircuitHistory follows the moves of an iteration, and the moves of the previous iteration
// that end in this one.
func newCircuitHistory(p *result.Simulation) *circuitHistory {
	// A circuitChange is a move: it starts at time at and its circuits are usable from time up, in
	// seconds. circuits has the number of circuits of each pair afterwards.
	type circuitChange struct {
		at, up   float64
		circuits []int
	}

	// now has the circuits of each pair at the start of the iteration.
	now := make([]int, len(p.Topology.Pairs))
	for i, q := range p.Topology.Pairs {
		now[i] = q.Circuits
	}

	// Follow the circuits over two iterations, so that moves of the previous one are included.
	// The first change stands for the time before all moves.
	list := []circuitChange{{at: math.Inf(-1), up: math.Inf(-1), circuits: slices.Clone(now)}}
	for _, iteration := range []float64{-1, 0} {
		for _, v := range p.Moves {
			for _, c := range v.Circuits {
				for i, q := range p.Topology.Pairs {
					if q.A == c.A && q.B == c.B && q.DP == c.DP {
						now[i] = c.To
					}
				}
			}

			list = append(list, circuitChange{
				at:       v.AtS + iteration*p.MakespanS,
				up:       v.UpS + iteration*p.MakespanS,
				circuits: slices.Clone(now),
			})
		}
	}

	// Divide the iteration at each start and end of a move.
	s := &circuitHistory{times: []float64{0, p.MakespanS}}
	for _, m := range list[1:] {
		for _, t := range []float64{m.at, m.up} {
			if t > 0 && t < p.MakespanS {
				s.times = append(s.times, t)
			}
		}
	}

	slices.Sort(s.times)
	s.times = slices.Compact(s.times)

	// Count the circuits of each interval. A circuit is usable from a time on if no move that is
	// still in progress has added it.
	for _, t := range s.times[:len(s.times)-1] {
		usable := make([]int, len(now))
		held := make([]int, len(now))
		for _, m := range list {
			if m.at > t {
				break
			}
			copy(held, m.circuits)
			for e, n := range m.circuits {
				if m.up <= t || n < usable[e] {
					usable[e] = n
				}
			}
		}

		for e := range held {
			held[e] -= usable[e]
		}
		s.carrying = append(s.carrying, usable)
		s.settingUp = append(s.settingUp, held)
	}

	return s
}

// assignColors assigns different colours to the pairs of each pod, by greedy colouring.
func (m *movesPicture) assignColors() {
	t := m.sim.Topology
	m.colors = make([]color.RGBA, len(t.Pairs))
	for i, q := range t.Pairs {
		if q.DP {
			m.colors[i] = sheet.Green
			continue
		}

		// Find the colours of all pairs that share a pod with this one, and take the first other
		// colour. Pairs for which none remains are grey.
		taken := map[color.RGBA]bool{}
		for j, o := range t.Pairs[:i] {
			if o.A == q.A || o.A == q.B || o.B == q.A || o.B == q.B {
				taken[m.colors[j]] = true
			}
		}

		m.colors[i] = sheet.Dim
		if k := slices.IndexFunc(pairColors, func(c color.RGBA) bool {
			return !taken[c]
		}); k >= 0 {
			m.colors[i] = pairColors[k]
		}
	}
}

// chart returns a chart with two tracks per pod: its data rate and its ports.
func (m *movesPicture) chart() *trackChart {
	// trackShare is the share of its track that a bar covers.
	const trackShare = 0.9
	t := m.sim.Topology
	c := &trackChart{count: 2 * m.pods, labelSize: sheet.NumberSize}
	for pod := range m.pods {
		m.traffic(c, pod, trackShare)
		for k, carrying := range m.history.carrying {
			// Stack the usable and the moving circuits of each pair. A circuit is as high as its
			// share of the ports of the pod.
			foot := 0.0
			for e, q := range t.Pairs {
				if q.A == pod || q.B == pod {
					one := trackShare * float64(q.Copies) / float64(t.Pods[pod].Total) // a circuit
					c.stackBar(2*pod+1, m.history.times[k], m.history.times[k+1],
						&foot, one*float64(carrying[e]), m.colors[e])
					c.stackBar(2*pod+1, m.history.times[k], m.history.times[k+1],
						&foot, one*float64(m.history.settingUp[k][e]), movingColor)
				}
			}
		}
	}

	return c
}

// traffic adds the data rate of a pod to track 2*pod of c. The height high stands for the
// bandwidth of all ports of the pod, or for its maximum rate if the bandwidth is unknown.
func (m *movesPicture) traffic(c *trackChart, pod int, high float64) {
	t := m.sim.Topology

	// Collect the series of the circuits of this pod with the colours of their pairs.
	var series []*result.Series
	var colors []color.RGBA
	for k := range m.sim.Circuits {
		s := &m.sim.Circuits[k]
		if pair := t.FindPair(s.Name); pair != nil && strings.HasPrefix(s.Name,
			t.Pods[pod].Name+" ") {
			series = append(series, s)
			colors = append(colors, m.colors[slices.Index(t.Pairs, *pair)])
		}
	}

	// at has all times at which a rate changes.
	var at []float64
	for _, s := range series {
		at = append(at, s.TimeS...)
	}
	slices.Sort(at)
	at = slices.Compact(at)

	// full is the rate in bits per second that fills the track.
	full := m.portRate * float64(t.Pods[pod].Total)
	if full <= 0 {
		for _, t := range at {
			sum := 0.0
			for _, s := range series {
				sum += valueAt(s, t)
			}
			full = max(full, sum)
		}
	}

	// Stack the rates of each interval between changes.
	for k := 0; k+1 < len(at) && full > 0; k++ {
		foot := 0.0
		for i, s := range series {
			c.stackBar(2*pod, at[k], at[k+1], &foot, high*valueAt(s, at[k])/full,
				colors[i])
		}
	}
}

// sheet lays out the figure.
func (m *movesPicture) sheet() *sheet.Sheet {
	p, t := m.sim, m.sim.Topology
	s := &sheet.Sheet{Title: "Circuits that move in an iteration under " + p.Policy}
	chart := m.chart()

	// Name the pairs of each colour in the legend. Pairs of one colour share an entry; all pairs
	// of DP peers are one name.
	shown := map[color.RGBA]string{}
	for i, q := range t.Pairs {
		if q.A >= m.pods && q.B >= m.pods {
			continue
		}
		name := "to the DP peers"
		if !q.DP {
			name = t.Pods[q.A].Name + " - " + strings.TrimPrefix(t.Pods[q.B].Name,
				"pod ")
		}

		if before := shown[m.colors[i]]; before == "" {
			shown[m.colors[i]] = name
		} else if !q.DP {
			shown[m.colors[i]] = before + ", " + strings.TrimPrefix(name, "pod ")
		}
	}

	for _, clr := range append(slices.Clone(pairColors), sheet.Dim, sheet.Green) {
		if shown[clr] != "" {
			s.AddLegend(shown[clr], sheet.BoxSample(clr))
		}
	}

	s.AddLegend("moving, down for the delay", sheet.BoxSample(movingColor))

	// Plot the whole iteration, and its final changes enlarged.
	add := func(head string, from, to float64, ticks int) {
		q := chart.plot(sheet.PlotFunc(m.drawBands))
		const nameWidth, trackHeight = 150, 34 // points
		chart.nameTracks(q, nameWidth, func(i int) string {
			if i%2 == 1 {
				return "its ports"
			}
			return t.Pods[i/2].Name + " sends"
		})

		sheet.TimeAxis(&q.X, "time", from, to, ticks)
		sheet.AddHeading(q, head)
		s.Add(vg.Length(trackHeight*2*m.pods), q)
	}

	add("The whole iteration: "+sheet.Duration(p.MakespanS, 4), 0, p.MakespanS, 10)
	if from, to, ok := m.finalChanges(); ok {
		add("Its last changes before the end", from, to, 8)
	}

	// Explain the figure.
	what := "A row is as high as what a pod sends at its peak, or its ports"
	if m.portRate > 0 {
		what = "A row is as high as all ports of a pod: what it sends over them"
	}
	s.Note("%s", m.durationNote())
	s.Note("%s, and below it the pods at the other ends of its ports. Pipelines "+
		"send between pods; when gradients are complete, pods synchronise them "+
		"with the same pods of other replicas, their DP peers.", what)
	sheet.First(s, t.Pods, m.pods, "pods")

	return s
}

// durationNote compares the iteration time with and without moves. It omits the latter if moves
// do not shorten the iteration.
func (m *movesPicture) durationNote() string {
	p := m.sim
	out := fmt.Sprintf("With %s of circuits the iteration takes %s",
		text.Plural(len(p.Moves), "move"), sheet.Duration(p.MakespanS, 4))
	if p.UnchangedS > p.MakespanS {
		out += fmt.Sprintf(", without %s", sheet.Duration(p.UnchangedS, 4))
	}
	return out + "."
}

// finalChanges returns a time range in seconds with the changes in the last quarter of the
// iteration, when pipelines drain. Without changes, ok is false.
func (m *movesPicture) finalChanges() (from, to float64, ok bool) {
	end := m.sim.MakespanS

	// lastShare is the share of the iteration in which moves count as final changes.
	const lastShare = 0.25
	from = math.Inf(1)
	for _, v := range m.sim.Moves {
		if v.AtS > end*(1-lastShare) && v.AtS < end {
			from = min(from, v.AtS)
		}
	}

	const leadShare = 0.1 // of the shown time, before the first of these moves
	from = max(0, from-leadShare*(end-from))
	return from, end, !math.IsInf(from, 1)
}

// drawBands draws a background behind every other pod.
func (m *movesPicture) drawBands(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for pod := range m.pods {
		top := y(float64(2 * (m.pods - pod)))
		foot := y(float64(2*(m.pods-pod) - 2))
		if pod%2 == 0 {
			sheet.FillBox(c, sheet.Band, c.Min.X, c.Max.X, foot, top)
		}
	}
}
