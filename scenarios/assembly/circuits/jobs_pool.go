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

// circuitPool simulates the iterations of all jobs, again and again, on circuits that all of them may use: those between the
// same two pods are one bundle. Every job keeps its GPUs and their network interfaces.
type circuitPool struct {
	jobs        *jobsSystem
	service     flow.Service
	graph       *engine.Graph
	optical     *fabric.Optical
	poolBundles [][]int   // by job and bundle: that of the pool
	firstTasks  [][]int32 // by job and iteration: its first task
	origin      []int32   // by task: that of the job's reduced graph; -1 for the common start
	jobOf       []int32   // by task
}

// newPool builds the network and the graph of all iterations. It fails where that would not fit the memory.
func (m *jobsSystem) newPool() (*circuitPool, error) {
	p := &circuitPool{jobs: m, graph: &engine.Graph{}, origin: []int32{-1}, jobOf: []int32{-1}}
	if service, err := flow.ParseService(m.scenario.Policy.Service); err == nil {
		p.service = service
	}
	repeats := m.repeats()
	tasks := 0.0
	for j, sys := range m.jobs {
		tasks += float64(repeats[j]) * float64(len(sys.interPodGraph.Tasks))
	}
	if err := assembly.PodTask.Scale(tasks).CheckLimits("the iterations of the jobs", "fewer policy.repeat.iterations"); err != nil {
		return nil, err
	}
	pods, innerRate := &fabric.Pods{Copies: m.jobs[0].pods.Copies, Pods: m.newPods()}, units.Rate(0)
	p.graph.AddTask(engine.Task{})
	for j, sys := range m.jobs {
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
	p.graph.Namer = func(id int32) string {
		if j := p.jobOf[id]; j >= 0 {
			return m.scenario.Jobs[j].Name + ": " + m.jobs[j].interPodGraph.Name(p.origin[id])
		}
		return "start"
	}
	if err := p.graph.Freeze(); err != nil {
		return nil, err
	}
	var err error
	if p.optical, err = pods.Connect(p.graph); err != nil {
		return nil, err
	}
	p.matchBundles()
	return p, nil
}

// repeats returns how often each job repeats its iteration: until the longest has had as many as the scenario says, by
// their times on the ideal fabric. A quotient that exceeds a whole number by rounding alone is that number.
func (m *jobsSystem) repeats() []int {
	longest, last := 0.0, 0.0
	for j, sys := range m.jobs {
		longest = max(longest, sys.Times.Ideal.Seconds())
		last = max(last, m.scenario.Jobs[j].Phase.Seconds())
	}
	end := last + float64(m.scenario.Policy.Repeat.Iterations)*longest
	repeats := make([]int, len(m.jobs))
	for j, sys := range m.jobs {
		const rounding = 1e-12
		repeats[j] = int(math.Ceil((end - m.scenario.Jobs[j].Phase.Seconds()) / sys.Times.Ideal.Seconds() * (1 - rounding)))
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
		pods = append(pods, fabric.Pod{Name: name, Replica: row, Ports: max(1, ports), Rate: m.scenario.Fabric.PortBandwidth})
	}
	return pods
}

// addNodes adds the nodes of a job to the shared pods.
func (p *circuitPool) addNodes(all *fabric.Pods, j int) {
	jobPods, nicOffset := p.jobs.jobs[j].pods, int32(len(all.NICs))
	for _, n := range jobPods.NICs {
		n.Name = p.jobs.scenario.Jobs[j].Name + ": " + n.Name
		all.NICs = append(all.NICs, n)
	}
	for _, n := range jobPods.Nodes {
		n.Pod, n.NICs = int32(p.jobs.shared.Jobs[j].Pods[n.Pod]), slices.Clone(n.NICs)
		for k := range n.NICs {
			n.NICs[k] += nicOffset
		}
		all.Nodes = append(all.Nodes, n)
	}
	all.PeerEnds, all.PeerDirections = max(all.PeerEnds, jobPods.PeerEnds), max(all.PeerDirections, jobPods.PeerDirections)
}

// addIterations adds a job's iterations, each after the one before it.
func (p *circuitPool) addIterations(sys *circuitSystem, j, count int, node int32) {
	graph := sys.interPodGraph
	last := int32(len(graph.Tasks)) - 1 // Contract puts a source first and a sink last
	p.firstTasks = append(p.firstTasks, nil)
	previous, lag := int32(0), p.jobs.scenario.Jobs[j].Phase
	for range count {
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

// matchBundles finds the pool's bundle of each bundle of a job.
func (p *circuitPool) matchBundles() {
	bundleOf := map[[2]int32]int{}
	for e, b := range p.optical.Bundles {
		bundleOf[[2]int32{b.A, b.B}] = e
	}
	for j, sys := range p.jobs.jobs {
		pods := p.jobs.shared.Jobs[j].Pods
		bundles := make([]int, len(sys.optical.Bundles))
		for e, b := range sys.optical.Bundles {
			x, y := int32(pods[b.A]), int32(pods[b.B])
			bundles[e] = bundleOf[[2]int32{min(x, y), max(x, y)}]
		}
		p.poolBundles = append(p.poolBundles, bundles)
	}
}

// sumCircuits adds up the jobs' circuits.
func (p *circuitPool) sumCircuits(circuits [][]int) []int {
	x := make([]int, len(p.optical.Bundles))
	for j, jobCircuits := range circuits {
		for e, n := range jobCircuits {
			x[p.poolBundles[j][e]] += n
		}
	}
	return x
}

// iterationSpan is when an iteration was simulated.
type iterationSpan struct{ start, end engine.Time }

// simulate simulates all iterations on pooled circuits and returns them by job.
func (p *circuitPool) simulate(ctx context.Context, circuits [][]int) ([][]iterationSpan, error) {
	n, err := p.optical.Provision(p.sumCircuits(circuits))
	if err != nil {
		return nil, err
	}
	o := flow.Options{Service: p.service}
	if p.service == flow.LevelPriority {
		o.Tails = p.tails(n)
	}
	r, err := composition.Simulate(ctx, "flow", &composition.Job{Graph: p.graph}, composition.NewRouteDecision(n, p.optical.Routes, o))
	if err != nil {
		return nil, err
	}
	out := make([][]iterationSpan, len(p.firstTasks))
	for j, iterations := range p.firstTasks {
		start := p.jobs.scenario.Jobs[j].Phase
		for _, first := range iterations {
			end := r.Trace.End[int(first)+len(p.jobs.jobs[j].interPodGraph.Tasks)-1]
			out[j] = append(out[j], iterationSpan{start, end})
			start = end
		}
	}
	return out, nil
}

// tails returns what levels go by: of each task the longest path from its end to the end of its own iteration, when all
// transfers go at the full rate that the network allows one. So no job comes first because more iterations of it are to
// come.
func (p *circuitPool) tails(n *engine.Network) []float64 {
	tails := make([]float64, len(p.graph.Tasks))
	for j, sys := range p.jobs.jobs {
		graph := sys.interPodGraph
		tail, spans := make([]float64, len(graph.Tasks)), make([]float64, len(graph.Tasks))
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

// minDuration returns how long a task takes when it has the network to itself, in ticks.
func (p *circuitPool) minDuration(n *engine.Network, id int32) float64 {
	t := &p.graph.Tasks[id]
	rate := math.Inf(1)
	for _, u := range p.optical.Routes.Of(id) {
		rate = min(rate, n.Rate(u.Resource)/u.Weight)
	}
	return float64(t.Duration) + 8*float64(t.Bytes)/rate*float64(engine.Second)
}

// measure adds what a decision comes to on pooled circuits.
func (p *circuitPool) measure(ctx context.Context, row *result.Row, d *topology.JobsDecision) error {
	iterations, err := p.simulate(ctx, d.Circuits())
	if err != nil {
		return err
	}
	allStarted, firstEnd := engine.Time(0), engine.Never // when all jobs run
	for j, spans := range iterations {
		allStarted, firstEnd = max(allStarted, p.jobs.scenario.Jobs[j].Phase), min(firstEnd, spans[len(spans)-1].end)
	}
	mean := make([]engine.Time, len(iterations))
	for j, spans := range iterations {
		var measured []iterationSpan
		sum, longest := engine.Time(0), engine.Time(0)
		for _, span := range spans[min(p.jobs.scenario.Policy.Repeat.Warmup, len(spans)):] {
			if span.start >= allStarted && span.end <= firstEnd {
				measured = append(measured, span)
				sum, longest = sum+span.end-span.start, max(longest, span.end-span.start)
			}
		}
		n := len(measured)
		if n == 0 {
			return fmt.Errorf("no iteration of job %s after its warm-up lies within the time that all jobs run: raise policy.repeat.iterations", p.jobs.scenario.Jobs[j].Name)
		}
		mean[j] = sum / engine.Time(n)
		row.Metrics[p.jobs.jobMetric(j, "iterations")] = float64(n)
		row.Metrics[p.jobs.jobMetric(j, "iteration_mean_s")] = mean[j].Seconds()
		row.Metrics[p.jobs.jobMetric(j, "iteration_max_s")] = longest.Seconds()
		if j > 0 {
			row.Metrics[p.jobs.jobMetric(j, "drift")] = drift(measured, iterations[0])
		}
	}
	row.Metrics["pooled_objective"] = p.jobs.shared.Value(mean)
	order := "shared " + p.service.String()
	if p.service == flow.LevelPriority {
		order = "by level: the longest way to the end of the job's own iteration goes first"
	}
	row.Labels["pooled"] = "all jobs on the circuits of all, " + order
	p.jobs.addNCT(row, "pooled_", "nct_mean", mean)
	return nil
}

// drift returns how far the places in the first job's cycle at which a job's iterations begin go from the first of
// these places: a fraction of the cycle, up to a half.
func drift(spans, cycles []iterationSpan) float64 {
	maxShift, reference := 0.0, math.NaN()
	k := 0
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
