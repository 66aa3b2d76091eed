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

// pool simulates the iterations of all jobs, again and again, on circuits that all of them may use: those between the
// same two pods are one bundle. Every job keeps its GPUs and their network interfaces.
type pool struct {
	m       *jobsInstance
	service flow.Service
	graph   *engine.Graph
	optical *fabric.Optical
	bundle  [][]int   // by job and bundle: that of the pool
	first   [][]int32 // by job and iteration: its first task
	from    []int32   // by task: that of the job's reduced graph; -1 for the common start
	job     []int32   // by task
}

// newPool builds the network and the graph of all iterations. It fails where that would not fit the memory.
func (m *jobsInstance) newPool() (*pool, error) {
	p := &pool{m: m, graph: &engine.Graph{}, from: []int32{-1}, job: []int32{-1}}
	if asked, err := flow.ParseService(m.s.Policy.Service); err == nil {
		p.service = asked
	}
	repeats := m.repeats()
	tasks := 0.0
	for j, in := range m.jobs {
		tasks += float64(repeats[j]) * float64(len(in.reduced.Tasks))
	}
	if err := assembly.PodTask.Scale(tasks).CheckLimits("the iterations of the jobs", "fewer policy.repeat.iterations"); err != nil {
		return nil, err
	}
	pods, inside := &fabric.Pods{Copies: m.jobs[0].pods.Copies, Pods: m.pods()}, units.Rate(0)
	p.graph.AddTask(engine.Task{})
	for j, in := range m.jobs {
		node := int32(len(pods.Nodes))
		p.lodge(pods, j)
		p.repeat(in, j, repeats[j], node)
		if in.pods.Inside != nil {
			inside = max(inside, in.pods.Inside.Rate)
		}
	}
	if inside > 0 {
		pods.Inside = pods.SwitchedNetwork(inside)
	}
	p.graph.Namer = func(id int32) string {
		if j := p.job[id]; j >= 0 {
			return m.s.Jobs[j].Name + ": " + m.jobs[j].reduced.Name(p.from[id])
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
	p.match()
	return p, nil
}

// repeats returns how often each job repeats its iteration: until the longest has had as many as the scenario says, by
// their times on the ideal fabric. A quotient that exceeds a whole number by rounding alone is that number.
func (m *jobsInstance) repeats() []int {
	longest, last := 0.0, 0.0
	for j, in := range m.jobs {
		longest = max(longest, in.Times.Ideal.Seconds())
		last = max(last, m.s.Jobs[j].Phase.Seconds())
	}
	end := last + float64(m.s.Policy.Repeat.Iterations)*longest
	repeats := make([]int, len(m.jobs))
	for j, in := range m.jobs {
		const rounding = 1e-12
		repeats[j] = int(math.Ceil((end - m.s.Jobs[j].Phase.Seconds()) / in.Times.Ideal.Seconds() * (1 - rounding)))
	}
	return repeats
}

// pods returns the shared pods.
func (m *jobsInstance) pods() (pods []fabric.Pod) {
	for pod, ports := range m.shared.Ports {
		row, number := pod/m.s.PodsInRow(), pod%m.s.PodsInRow()
		name := fmt.Sprintf("pod %d", number)
		if m.jobs[0].it.All {
			name = fmt.Sprintf("pod %d.%d", row, number)
		}
		pods = append(pods, fabric.Pod{Name: name, Replica: row, Ports: max(1, ports), Rate: m.s.Fabric.PortBandwidth})
	}
	return pods
}

// lodge adds the nodes of a job to the shared pods.
func (p *pool) lodge(all *fabric.Pods, j int) {
	own, sets := p.m.jobs[j].pods, int32(len(all.NICs))
	for _, n := range own.NICs {
		n.Name = p.m.s.Jobs[j].Name + ": " + n.Name
		all.NICs = append(all.NICs, n)
	}
	for _, n := range own.Nodes {
		n.Pod, n.NICs = int32(p.m.shared.Jobs[j].Pods[n.Pod]), slices.Clone(n.NICs)
		for k := range n.NICs {
			n.NICs[k] += sets
		}
		all.Nodes = append(all.Nodes, n)
	}
	all.PeerEnds, all.PeerDirections = max(all.PeerEnds, own.PeerEnds), max(all.PeerDirections, own.PeerDirections)
}

// repeat adds a job's iterations, each after the one before it.
func (p *pool) repeat(in *instance, j, times int, node int32) {
	small := in.reduced
	last := int32(len(small.Tasks)) - 1 // Contract puts a source first and a sink last
	p.first = append(p.first, nil)
	before, lag := int32(0), p.m.s.Jobs[j].Phase
	for range times {
		first := int32(len(p.graph.Tasks))
		for i, t := range small.Tasks {
			t.Src, t.Dst = t.Src+node, t.Dst+node
			p.graph.AddTask(t)
			p.from, p.job = append(p.from, int32(i)), append(p.job, int32(j))
		}
		for i := range small.Tasks {
			for _, e := range small.Out(int32(i)) {
				p.graph.AddEdge(first+e.From, first+e.To, e.Lag)
			}
		}
		p.graph.AddEdge(before, first, lag)
		p.first[j] = append(p.first[j], first)
		before, lag = first+last, 0
	}
}

// match finds the pool's bundle of each bundle of a job.
func (p *pool) match() {
	at := map[[2]int32]int{}
	for e, b := range p.optical.Bundles {
		at[[2]int32{b.A, b.B}] = e
	}
	for j, in := range p.m.jobs {
		pods := p.m.shared.Jobs[j].Pods
		of := make([]int, len(in.optical.Bundles))
		for e, b := range in.optical.Bundles {
			x, y := int32(pods[b.A]), int32(pods[b.B])
			of[e] = at[[2]int32{min(x, y), max(x, y)}]
		}
		p.bundle = append(p.bundle, of)
	}
}

// pooled adds up the jobs' circuits.
func (p *pool) pooled(circuits [][]int) []int {
	x := make([]int, len(p.optical.Bundles))
	for j, own := range circuits {
		for e, n := range own {
			x[p.bundle[j][e]] += n
		}
	}
	return x
}

// span is when an iteration was simulated.
type span struct{ start, end engine.Time }

// simulate simulates all iterations on pooled circuits and returns them by job.
func (p *pool) simulate(ctx context.Context, circuits [][]int) ([][]span, error) {
	n, err := p.optical.Provision(p.pooled(circuits))
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
	out := make([][]span, len(p.first))
	for j, iterations := range p.first {
		begin := p.m.s.Jobs[j].Phase
		for _, first := range iterations {
			end := r.Trace.End[int(first)+len(p.m.jobs[j].reduced.Tasks)-1]
			out[j] = append(out[j], span{begin, end})
			begin = end
		}
	}
	return out, nil
}

// tails returns what levels go by: of each task the longest path from its end to the end of its own iteration, when all
// transfers go at the full rate that the network allows one. So no job comes first because more iterations of it are to
// come.
func (p *pool) tails(n *engine.Network) []float64 {
	all := make([]float64, len(p.graph.Tasks))
	for j, in := range p.m.jobs {
		small := in.reduced
		tail, span := make([]float64, len(small.Tasks)), make([]float64, len(small.Tasks))
		for _, i := range slices.Backward(small.Order()) {
			for _, e := range small.Out(i) {
				tail[i] = max(tail[i], float64(e.Lag)+span[e.To])
			}
			span[i] = tail[i] + p.fastest(n, p.first[j][0]+i)
		}
		for _, first := range p.first[j] {
			copy(all[first:], tail)
		}
	}
	return all
}

// fastest returns how long a task takes when it has the network to itself, in ticks.
func (p *pool) fastest(n *engine.Network, id int32) float64 {
	t := &p.graph.Tasks[id]
	rate := math.Inf(1)
	for _, u := range p.optical.Routes.Of(id) {
		rate = min(rate, n.Rate(u.Resource)/u.Weight)
	}
	return float64(t.Duration) + 8*float64(t.Bytes)/rate*float64(engine.Second)
}

// measure adds what a decision comes to on pooled circuits.
func (p *pool) measure(ctx context.Context, row *result.Row, d *topology.JobsDecision) error {
	iterations, err := p.simulate(ctx, d.Circuits())
	if err != nil {
		return err
	}
	from, to := engine.Time(0), engine.Never // when all jobs run
	for j, of := range iterations {
		from, to = max(from, p.m.s.Jobs[j].Phase), min(to, of[len(of)-1].end)
	}
	mean := make([]engine.Time, len(iterations))
	for j, of := range iterations {
		var measured []span
		sum, most := engine.Time(0), engine.Time(0)
		for _, l := range of[min(p.m.s.Policy.Repeat.Warmup, len(of)):] {
			if l.start >= from && l.end <= to {
				measured = append(measured, l)
				sum, most = sum+l.end-l.start, max(most, l.end-l.start)
			}
		}
		n := len(measured)
		if n == 0 {
			return fmt.Errorf("no iteration of job %s after its warm-up lies within the time that all jobs run: raise policy.repeat.iterations", p.m.s.Jobs[j].Name)
		}
		mean[j] = sum / engine.Time(n)
		row.Metrics[p.m.jobMetric(j, "iterations")] = float64(n)
		row.Metrics[p.m.jobMetric(j, "iteration_mean_s")] = mean[j].Seconds()
		row.Metrics[p.m.jobMetric(j, "iteration_max_s")] = most.Seconds()
		if j > 0 {
			row.Metrics[p.m.jobMetric(j, "drift")] = drift(measured, iterations[0])
		}
	}
	row.Metrics["pooled_objective"] = p.m.shared.Value(mean)
	how := "shared " + p.service.String()
	if p.service == flow.LevelPriority {
		how = "by level: the longest way to the end of the job's own iteration goes first"
	}
	row.Labels["pooled"] = "all jobs on the circuits of all, " + how
	p.m.measureNCT(row, "pooled_", "nct_mean", mean)
	return nil
}

// drift returns how far the places in the first job's cycle at which a job's iterations begin go from the first of
// these places: a fraction of the cycle, up to a half.
func drift(of, cycles []span) float64 {
	most, zero := 0.0, math.NaN()
	k := 0
	for _, l := range of {
		for k+1 < len(cycles) && cycles[k].end <= l.start {
			k++
		}
		c := cycles[k]
		at := float64(l.start-c.start) / float64(c.end-c.start)
		if math.IsNaN(zero) {
			zero = at
		}
		off := math.Abs(at - zero)
		most = max(most, min(off, 1-off))
	}
	return most
}
