// This file simulates several jobs on shared circuits (policy.circuits = "shared"). All
// jobs repeat their iterations at the same time, on bundles that hold the circuits of all
// jobs. The file measures how much the jobs delay each other, and how their phases drift.

package circuits

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// circuitPool simulates repeated iterations of all jobs on shared circuits. The circuits
// of all jobs between the same two pods form one bundle, which every job may use. Each
// job keeps its own GPUs and network interfaces.
type circuitPool struct {
	system      *jobsSystem
	service     flow.Service
	graph       *engine.Graph   // all iterations of all jobs, after a common start task
	optical     *fabric.Optical // shared bundles, with the routes of graph
	poolBundles [][]int         // shared bundle, indexed by job and bundle of the job
	firstTasks  [][]int32       // first task, indexed by job and iteration
	origin      []int32         // task of the job's inter-pod DAG, indexed by task; -1 for the start
	jobOf       []int32         // job, indexed by task; -1 for the start
}

// newPool builds the network and the graph of all iterations. It fails if the graph
// exceeds the memory limit.
func (m *jobsSystem) newPool() (*circuitPool, error) {
	p := &circuitPool{
		system: m,
		graph:  &engine.Graph{},
		origin: []int32{-1},
		jobOf:  []int32{-1},
	}
	if service, err := flow.ParseService(m.scenario.Policy.Service); err == nil {
		p.service = service
	}

	// The graph repeats the inter-pod DAG of each job. Estimate its size before it is
	// built.
	repeats := m.repeats()
	tasks := 0.0
	for j, sys := range m.jobs {
		tasks += float64(repeats[j]) * float64(len(sys.interPodGraph.Tasks))
	}
	cost := assembly.PodTask.Scale(tasks)
	err := cost.CheckLimits("the iterations of the jobs", "fewer policy.repeat.iterations")
	if err != nil {
		return nil, err
	}

	pods := &fabric.Pods{Copies: m.jobs[0].pods.Copies, Pods: m.newPods()}
	innerRate := units.Rate(0)
	p.graph.AddTask(engine.Task{}) // the start
	for j, sys := range m.jobs {
		// Nodes of the job get numbers after the nodes of the preceding jobs.
		node := int32(len(pods.Nodes))
		p.addNodes(pods, j)
		p.addIterations(sys, j, repeats[j], node)
		if sys.pods.Inside != nil {
			innerRate = max(innerRate, sys.pods.Inside.Rate)
		}
	}
	if innerRate > 0 {
		pods.Inside = pods.SwitchedNetwork(innerRate)
	}

	// Names of tasks start with the name of their job.
	p.graph.Namer = func(id int32) string {
		if j := p.jobOf[id]; j >= 0 {
			return m.scenario.Jobs[j].Name + ": " + m.jobs[j].interPodGraph.Name(p.origin[id])
		}
		return "start"
	}
	if err := p.graph.Freeze(); err != nil {
		return nil, err
	}
	if p.optical, err = pods.Connect(p.graph); err != nil {
		return nil, err
	}
	p.matchBundles()
	return p, nil
}

// repeats returns how often each job repeats its iteration. All jobs run until the job
// with the longest iteration has made policy.repeat.iterations, by their times on the
// ideal fabric.
func (m *jobsSystem) repeats() []int {
	// The longest iteration, and the start of the job that starts last.
	longest, last := 0.0, 0.0
	for j, sys := range m.jobs {
		longest = max(longest, sys.Times.Ideal.Seconds())
		last = max(last, m.scenario.Jobs[j].Phase.Seconds())
	}
	end := last + float64(m.scenario.Policy.Repeat.Iterations)*longest

	// The factor prevents that rounding errors of the quotient add an iteration.
	const rounding = 1e-12
	repeats := make([]int, len(m.jobs))
	for j, sys := range m.jobs {
		iterations := (end - m.scenario.Jobs[j].Phase.Seconds()) / sys.Times.Ideal.Seconds()
		repeats[j] = int(math.Ceil(iterations * (1 - rounding)))
	}
	return repeats
}

// newPods returns the shared pods.
func (m *jobsSystem) newPods() (pods []fabric.Pod) {
	for pod, ports := range m.shared.Ports {
		row, number := pod/m.scenario.PodsInRow(), pod%m.scenario.PodsInRow()
		name := fmt.Sprintf("pod %d", number)
		if m.jobs[0].iteration.All {
			name = fmt.Sprintf("pod %d.%d", row, number)
		}
		pods = append(pods, fabric.Pod{
			Name:    name,
			Replica: row,
			Ports:   max(1, ports),
			Rate:    m.scenario.Fabric.PortBandwidth,
		})
	}
	return pods
}

// addNodes adds the nodes and network interfaces of job j to the shared pods.
func (p *circuitPool) addNodes(all *fabric.Pods, j int) {
	jobPods, nicOffset := p.system.jobs[j].pods, int32(len(all.NICs))
	for _, n := range jobPods.NICs {
		n.Name = p.system.scenario.Jobs[j].Name + ": " + n.Name
		all.NICs = append(all.NICs, n)
	}
	for _, n := range jobPods.Nodes {
		// Indices of pods and network interfaces refer to the shared pods.
		n.Pod = int32(p.system.shared.Jobs[j].Pods[n.Pod])
		n.NICs = slices.Clone(n.NICs)
		for k := range n.NICs {
			n.NICs[k] += nicOffset
		}
		all.Nodes = append(all.Nodes, n)
	}
	all.PeerEnds = max(all.PeerEnds, jobPods.PeerEnds)
	all.PeerDirections = max(all.PeerDirections, jobPods.PeerDirections)
}

// addIterations adds count iterations of job j in sequence, starting at the job's phase.
// Its first node has the given number.
func (p *circuitPool) addIterations(sys *circuitSystem, j, count int, node int32) {
	graph := sys.interPodGraph

	last := int32(len(graph.Tasks)) - 1 // fabric.Pods.Reduce puts a source first and a sink last
	p.firstTasks = append(p.firstTasks, nil)
	previous, lag := int32(0), p.system.scenario.Jobs[j].Phase
	for range count {
		// Copy the tasks and dependencies with the offset of this iteration, and link it
		// to the previous one.
		first := int32(len(p.graph.Tasks))
		for i, t := range graph.Tasks {
			t.Src, t.Dst = t.Src+node, t.Dst+node
			p.graph.AddTask(t)
			p.origin, p.jobOf = append(p.origin, int32(i)), append(p.jobOf, int32(j))
		}
		for i := range graph.Tasks {
			for _, e := range graph.Out(int32(i)) {
				p.graph.AddEdge(first+e.From, first+e.To, e.Lag)
			}
		}
		p.graph.AddEdge(previous, first, lag)
		p.firstTasks[j] = append(p.firstTasks[j], first)
		previous, lag = first+last, 0
	}
}

// matchBundles finds the shared bundle of each bundle of a job.
func (p *circuitPool) matchBundles() {
	bundleOf := map[[2]int32]int{}
	for e, b := range p.optical.Bundles {
		bundleOf[[2]int32{b.A, b.B}] = e
	}
	for j, sys := range p.system.jobs {
		pods := p.system.shared.Jobs[j].Pods
		bundles := make([]int, len(sys.optical.Bundles))
		for e, b := range sys.optical.Bundles {
			// The order of the two pods may differ between a job and the pool.
			x, y := int32(pods[b.A]), int32(pods[b.B])
			bundles[e] = bundleOf[[2]int32{min(x, y), max(x, y)}]
		}
		p.poolBundles = append(p.poolBundles, bundles)
	}
}

// sumCircuits returns the circuits of each shared bundle, given the circuits of all jobs.
func (p *circuitPool) sumCircuits(circuits [][]int) []int {
	x := make([]int, len(p.optical.Bundles))
	for j, jobCircuits := range circuits {
		for e, n := range jobCircuits {
			x[p.poolBundles[j][e]] += n
		}
	}
	return x
}

// iterationSpan holds the start and the end of a simulated iteration.
type iterationSpan struct{ start, end engine.Time }

// simulate simulates all iterations on shared circuits. The result is indexed by job and
// iteration.
func (p *circuitPool) simulate(ctx context.Context, circuits [][]int) ([][]iterationSpan, error) {
	n, err := p.optical.Provision(p.sumCircuits(circuits))
	if err != nil {
		return nil, err
	}
	// Under priority levels, the default tails of the repeated graph would favour jobs
	// with more iterations ahead; see tails.
	o := flow.Options{Service: p.service}
	if p.service == flow.LevelPriority {
		o.Tails = p.tails(n)
	}
	job := &composition.Job{Graph: p.graph}
	decision := composition.NewRouteDecision(n, p.optical.Routes, o)
	r, err := composition.Simulate(ctx, "flow", job, decision)
	if err != nil {
		return nil, err
	}

	out := make([][]iterationSpan, len(p.firstTasks))
	for j, iterations := range p.firstTasks {
		tasks := len(p.system.jobs[j].interPodGraph.Tasks)
		// An iteration starts when the previous one ends.
		start := p.system.scenario.Jobs[j].Phase
		for _, first := range iterations {
			end := r.Trace.End[int(first)+tasks-1]
			out[j] = append(out[j], iterationSpan{start, end})
			start = end
		}
	}
	return out, nil
}

// tails returns the tails that define priority levels, in ticks, indexed by task. The
// tail of a task is the longest path from its end to the end of its iteration, if every
// transfer has the network to itself. Paths end with the iteration, so that a job gains
// no priority from the number of its remaining iterations.
func (p *circuitPool) tails(n *engine.Network) []float64 {
	tails := make([]float64, len(p.graph.Tasks))
	for j, sys := range p.system.jobs {
		graph := sys.interPodGraph
		tail := make([]float64, len(graph.Tasks))
		spans := make([]float64, len(graph.Tasks)) // tail plus duration
		// Longest paths in reverse topological order.
		for _, i := range slices.Backward(graph.Order()) {
			for _, e := range graph.Out(i) {
				tail[i] = max(tail[i], float64(e.Lag)+spans[e.To])
			}
			spans[i] = tail[i] + p.minDuration(n, p.firstTasks[j][0]+i)
		}
		for _, first := range p.firstTasks[j] {
			copy(tails[first:], tail)
		}
	}
	return tails
}

// minDuration returns the duration of a task that has the network to itself, in ticks.
func (p *circuitPool) minDuration(n *engine.Network, id int32) float64 {
	t := &p.graph.Tasks[id]

	// The slowest resource limits the rate.
	rate := math.Inf(1)
	for _, u := range p.optical.Routes.Of(id) {
		rate = min(rate, n.Rate(u.Resource)/u.Weight)
	}
	return float64(t.Duration) + 8*float64(t.Bytes)/rate*float64(engine.Second)
}

// measure simulates a decision on shared circuits and adds the iteration times of all
// jobs. It counts the iterations after the warm-up that lie within the time in which all
// jobs run.
func (p *circuitPool) measure(
	ctx context.Context, row *result.Row, d *topology.JobsDecision,
) error {
	iterations, err := p.simulate(ctx, d.Circuits())
	if err != nil {
		return err
	}
	// All jobs run from the start of the last one to the end of the first one.
	allStarted, firstEnd := engine.Time(0), engine.Never
	for j, spans := range iterations {
		allStarted = max(allStarted, p.system.scenario.Jobs[j].Phase)
		firstEnd = min(firstEnd, spans[len(spans)-1].end)
	}

	warmup := p.system.scenario.Policy.Repeat.Warmup
	mean := make([]engine.Time, len(iterations))
	for j, spans := range iterations {
		var measured []iterationSpan
		sum, longest := engine.Time(0), engine.Time(0)
		for _, span := range spans[min(warmup, len(spans)):] {
			if span.start >= allStarted && span.end <= firstEnd {
				measured = append(measured, span)
				sum += span.end - span.start
				longest = max(longest, span.end-span.start)
			}
		}
		n := len(measured)
		if n == 0 {
			return fmt.Errorf("no iteration of job %s after its warm-up lies within the time "+
				"that all jobs run: raise policy.repeat.iterations", p.system.scenario.Jobs[j].Name)
		}

		mean[j] = sum / engine.Time(n)
		row.Metrics[p.system.jobMetric(j, "iterations")] = float64(n)
		row.Metrics[p.system.jobMetric(j, "iteration_mean_s")] = mean[j].Seconds()
		row.Metrics[p.system.jobMetric(j, "iteration_max_s")] = longest.Seconds()
		if j > 0 {
			row.Metrics[p.system.jobMetric(j, "drift")] = drift(measured, iterations[0])
		}
	}

	// The objective of mean iteration times replaces the objective of isolated makespans.
	row.Metrics["pooled_objective"] = p.system.shared.Value(mean)
	order := "shared " + p.service.String()
	if p.service == flow.LevelPriority {
		order = "by level: the longest way to the end of the job's own iteration goes first"
	}
	row.Labels["pooled"] = "all jobs on the circuits of all, " + order
	p.system.addNCT(row, "pooled_", "nct_mean", mean)
	return nil
}

// drift returns by how much the phase of a job changes relative to the first job, whose
// iterations are the cycles. The phase is the position of the start of an iteration
// within the cycle, as a fraction of its length. The result is the maximum distance from
// the first phase, modulo a cycle, and at most 0.5.
func drift(spans, cycles []iterationSpan) float64 {
	maxShift, reference := 0.0, math.NaN()
	k := 0 // the cycle in which the iteration starts
	for _, span := range spans {
		for k+1 < len(cycles) && cycles[k].end <= span.start {
			k++
		}
		c := cycles[k]
		phase := float64(span.start-c.start) / float64(c.end-c.start)
		if math.IsNaN(reference) {
			reference = phase
		}
		shift := math.Abs(phase - reference)
		maxShift = max(maxShift, min(shift, 1-shift))
	}
	return maxShift
}
