// This file groups policies by their topologies, and lays out a picture of each.

package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// maxTopologyCharts limits the number of topologies in a figure: six rows of two.
const maxTopologyCharts = 12

// topologyChart is a topology with the policies that selected it. The embedded Wiring arranges
// the pods.
type topologyChart struct {
	topology *result.Topology
	policies []string
	// interval is the part of the iteration in which these circuits are usable, such as "0.5 s
	// to 2 s". Empty if no circuit moves.
	interval string
	// replicas is the number of replicas that the drawn one represents.
	replicas float64
	// count is the number of circuits, indexed by pair of pods, the lower index first.
	count map[[2]int]int
	// peer has the bundles to DP peers, indexed by pod.
	peer map[int]peerBundles
	// maxCircuits is the maximum number of circuits of a bundle in the figure.
	maxCircuits int

	*result.Wiring
}

// peerBundles are the bundles from a pod to its DP peers: circuits per bundle, and number of
// bundles. All of them have the same size.
type peerBundles struct{ circuits, copies int }

// topologyFigure shows the circuits that each policy selected. Policies with the same circuits
// share a chart. With several jobs, the topology of each job is next to the common one if all
// fit.
func topologyFigure(doc *result.Document, d *result.Detail, add addFigure) {
	s := &sheet.Sheet{Title: "Logical topology by policy: optical circuits between pods"}
	charts := topologyCharts(s, doc, d)
	if len(charts) == 0 {
		return
	}
	jobs := 0
	for i := range d.Policies {
		jobs = max(jobs, len(d.Policies[i].Jobs))
	}

	// Show each job separately if there are few: the topologies of up to maxSeparateJobs fit next
	// to the common one.
	const maxSeparateJobs = 2
	if jobs > 0 && jobs <= maxSeparateJobs && len(charts)*(1+jobs) <= maxTopologyCharts {
		charts = withJobs(charts, doc, d)
	} else {
		jobs = 0
	}

	// All charts have the same form and the same line widths, so that they are comparable. Find
	// the most general form, the largest bundle and the largest arrangement.
	charts = sheet.First(s, charts, maxTopologyCharts, "different topologies")
	form := result.RowForm
	columns, rows := 0, 1
	maxCircuits := 1
	peers := false // whether any pod has circuits to DP peers
	for _, c := range charts {
		columns = max(columns, c.Columns)
		rows = max(rows, c.Rows)
		peers = peers || len(c.peer) > 0
		for _, n := range c.count {
			maxCircuits = max(maxCircuits, n)
		}
		for _, t := range c.peer {
			maxCircuits = max(maxCircuits, t.circuits)
		}
		form = max(form, c.Form)
	}

	if n := charts[0].replicas; n > 1 {
		s.Note("Ports above a picture are those of all %.0f replicas; one of them is drawn for all.", n)
	}
	explainTopology(s, form, peers, maxCircuits)

	// Draw the charts. Their height in points depends on the form.
	const rowHeight, ringHeight, matrixHeight = 72, 250, 300
	block := sheet.Block{
		Cols: max(2, 1+jobs),
		Height: [...]vg.Length{
			result.RowForm:    rowHeight * vg.Length(rows),
			result.RingForm:   ringHeight,
			result.MatrixForm: matrixHeight,
		}[form],
	}

	// Longer rows of pods are illegible on half the width.
	const maxHalfColumns = 6
	if len(charts) == 1 || form == result.RowForm && columns > maxHalfColumns {
		block.Cols = 1
	}
	for _, c := range charts {
		c.maxCircuits = maxCircuits
		block.Plots = append(block.Plots,
			sheet.NewPicture(c.head(sheet.ContentWidth/vg.Length(block.Cols)-20),
				func(cv draw.Canvas) {
					c.paint(cv, form)
				}))
	}

	s.Blocks = []sheet.Block{block}
	add("topology", s)
}

// withJobs inserts the circuits of each job after the chart of all jobs. The policy of such a
// chart is the name of the job.
func withJobs(charts []*topologyChart, doc *result.Document, d *result.Detail) []*topologyChart {
	var out []*topologyChart
	for _, c := range charts {
		out = append(out, c)
		p := d.Simulation(c.policies[0])
		for i := range p.Jobs {
			job := newChart(p.Jobs[i].Topology)
			job.policies = []string{p.Jobs[i].Policy}
			job.countReplicas(doc, p.Policy, result.OfJob(p.Jobs[i].Policy, result.PortsUsed))
			out = append(out, job)
		}
	}

	return out
}

// topologyCharts groups policies by topology, in the order of the document. Topologies of
// several jobs are not grouped: they are sums over jobs, and equal sums do not imply equal
// topologies of the jobs. A policy that moves circuits has one chart per moment. Omitted moments
// are noted in s.
func topologyCharts(s *sheet.Sheet, doc *result.Document, d *result.Detail) []*topologyChart {
	var charts []*topologyChart
	for i := range d.Policies {
		p := &d.Policies[i]
		if p.Topology == nil || len(p.Topology.Pods) == 0 {
			continue
		}
		if len(p.Moves) > 0 && len(p.Jobs) == 0 && p.MakespanS > 0 {
			charts = append(charts, momentCharts(s, doc, p)...)
			continue
		}

		// Find a chart with the same pods and circuits.
		at := slices.IndexFunc(charts, func(c *topologyChart) bool {
			return len(p.Jobs) == 0 && c.interval == "" && slices.Equal(c.topology.Pods,
				p.Topology.Pods) && slices.Equal(c.topology.Pairs, p.Topology.Pairs)
		})

		if at < 0 {
			at = len(charts)
			charts = append(charts, newChart(p.Topology))
			charts[at].countReplicas(doc, p.Policy, result.PortsUsed)
		}

		charts[at].policies = append(charts[at].policies, p.Policy)
	}

	return charts
}

// momentCharts returns a chart for each interval of an iteration between moves of circuits, with
// the circuits that are usable in it. It keeps the longest intervals and notes in s if there are
// others.
func momentCharts(s *sheet.Sheet, doc *result.Document, p *result.Simulation) (charts []*topologyChart) {
	const maxMoments = 4
	h := newCircuitHistory(p)
	length := func(k int) float64 { return h.times[k+1] - h.times[k] }
	shown := make([]int, len(h.carrying))
	for k := range shown {
		shown[k] = k
	}
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(length(b), length(a)) })
	shown = slices.Sorted(slices.Values(sheet.First(s, shown, maxMoments,
		"intervals between moves of "+p.Policy+", by length,")))

	start := newChart(p.Topology)
	start.countReplicas(doc, p.Policy, result.PortsUsed)
	for _, k := range shown {
		c := newChart(p.Topology.With(h.carrying[k]))
		c.policies, c.replicas = []string{p.Policy}, start.replicas
		c.interval = sheet.Duration(h.times[k], 4) + " to " + sheet.Duration(h.times[k+1], 4)
		charts = append(charts, c)
	}
	return charts
}

// newChart returns the chart of a topology. It separates circuits between drawn pods from
// circuits to DP peers.
func newChart(t *result.Topology) *topologyChart {
	c := &topologyChart{
		topology: t,
		count:    map[[2]int]int{},
		peer:     map[int]peerBundles{},
		Wiring:   t.Wiring(),
	}

	for _, p := range t.Pairs {
		// Bundles to DP peers leave the drawn replica.
		if p.DP || p.A == p.B {
			s := c.peer[p.A]
			c.peer[p.A] = peerBundles{
				circuits: s.circuits + p.Circuits,
				copies:   max(s.copies, p.Copies, 1),
			}
			continue
		}

		c.count[[2]int{min(p.A, p.B), max(p.A, p.B)}] += p.Circuits
	}

	return c
}

// drawn returns the used and the total number of ports of the drawn pods.
func (c *topologyChart) drawn() (used, total int) {
	for _, p := range c.topology.Pods {
		used, total = used+p.Used, total+p.Total
	}
	return used, total
}

// countReplicas sets replicas: the ports in a row of the table of results divided by the ports of
// the drawn pods. It is 1 if the row does not have the metric.
func (c *topologyChart) countReplicas(doc *result.Document, policy, metric string) {
	used, _ := c.drawn()
	c.replicas = 1
	if r := doc.Row(policy); r != nil {
		c.replicas = max(1, r.Metrics[metric]/float64(max(1, used)))
	}
}

// head returns the heading: the policies, the interval and the used ports of all replicas,
// shortened to width.
func (c *topologyChart) head(width vg.Length) string {
	used, total := c.drawn()
	suffix := fmt.Sprintf(": %.0f of %.0f ports", c.replicas*float64(used),
		c.replicas*float64(total))
	if c.interval != "" {
		suffix = ", " + c.interval + suffix
	}
	style := sheet.Bold(sheet.HeadingSize, sheet.Ink)
	return sheet.Fit(style, strings.Join(c.policies, ", "),
		width-style.Width(suffix)) + suffix
}
