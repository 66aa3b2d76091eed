package circuits

import (
	"context"
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/policies/topology"
	"sim/scenarios/result"
)

// pool simulates the iterations of all jobs, again and again, on circuits that all of them may use: those between the
// same two pods are one bundle. Every job keeps its GPUs and their network interfaces.
type pool struct {
	m       *jobsInstance
	service flow.Service
	graph   *engine.Graph
	optical *fabric.Optical
	bundle  [][]int      // by job and bundle: that of the pool
	laps    [][][2]int32 // by job and iteration: its first and its last task
	from    []int32      // by task: that of the job's reduced graph; -1 for the common start
	job     []int32      // by task
}

// MaxTasks bounds the passes and transfers that are simulated: some 4 GB.
const MaxTasks = 2_000_000

// newPool builds the network and the graph of all iterations. It fails where that would not fit the memory.
func (m *jobsInstance) newPool() (*pool, error) {
	p := &pool{m: m, graph: &engine.Graph{}, from: []int32{-1}, job: []int32{-1}}
	if name := m.s.Policy.Service; name != "" {
		service, err := flow.ParseService(name)
		if err != nil {
			return nil, err
		}
		p.service = service
	}
	laps := m.laps()
	tasks := 0.0
	for j, in := range m.jobs {
		tasks += float64(laps[j]) * float64(len(in.reduced.Tasks))
	}
	if tasks > MaxTasks {
		return nil, fmt.Errorf("%v iterations of the jobs make %.2g tasks; lower policy.repeat.iterations to stay within %d", laps, tasks, MaxTasks)
	}
	pods := p.hardware()
	p.graph.AddTask(engine.Task{})
	node := int32(0)
	for j, in := range m.jobs {
		p.repeat(j, laps[j], node)
		node += int32(len(in.pods.Nodes))
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

// laps returns how often each job repeats its iteration: until the longest has had as many as the scenario says, by
// their times on the ideal fabric.
func (m *jobsInstance) laps() []int {
	longest, last := 0.0, 0.0
	for j, in := range m.jobs {
		longest = max(longest, in.Times.Ideal.Seconds())
		last = max(last, m.s.Jobs[j].Phase.Seconds())
	}
	end := last + float64(m.s.Policy.Repeat.Iterations)*longest
	laps := make([]int, len(m.jobs))
	for j, in := range m.jobs {
		laps[j] = int(math.Ceil((end - m.s.Jobs[j].Phase.Seconds()) / in.Times.Ideal.Seconds()))
	}
	return laps
}

// hardware returns the shared pods with the nodes of all jobs.
func (p *pool) hardware() *fabric.Pods {
	s := p.m.s
	all := &fabric.Pods{Copies: p.m.jobs[0].pods.Copies}
	for pod, ports := range s.PodPorts() {
		row, number := pod/s.PodsInRow(), pod%s.PodsInRow()
		name := fmt.Sprintf("pod %d", number)
		if p.m.jobs[0].it.All {
			name = fmt.Sprintf("pod %d.%d", row, number)
		}
		all.Pods = append(all.Pods, fabric.Pod{Name: name, Replica: row, Ports: max(1, ports), Rate: s.Fabric.PortBandwidth})
	}
	for j, in := range p.m.jobs {
		sets := int32(len(all.NICs))
		for _, n := range in.pods.NICs {
			n.Name = s.Jobs[j].Name + ": " + n.Name
			all.NICs = append(all.NICs, n)
		}
		for _, n := range in.pods.Nodes {
			n.Pod = int32(p.m.shared.Jobs[j].Pods[n.Pod])
			nics := make([]int32, len(n.NICs))
			for k, c := range n.NICs {
				nics[k] = sets + c
			}
			n.NICs = nics
			all.Nodes = append(all.Nodes, n)
		}
		all.PeerEnds, all.PeerDirections = max(all.PeerEnds, in.pods.PeerEnds), max(all.PeerDirections, in.pods.PeerDirections)
	}
	return all
}

// repeat adds a job's iterations, each after the one before it.
func (p *pool) repeat(j, laps int, node int32) {
	small := p.m.jobs[j].reduced
	last := int32(len(small.Tasks)) - 1 // Contract puts a source first and a sink last
	p.laps = append(p.laps, make([][2]int32, laps))
	lag := p.m.s.Jobs[j].Phase
	before := int32(0)
	for k := range laps {
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
		p.laps[j][k] = [2]int32{first, first + last}
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

// lap is an iteration as it was simulated.
type lap struct{ start, end engine.Time }

// play simulates all iterations on pooled circuits and returns them by job.
func (p *pool) play(ctx context.Context, circuits [][]int) ([][]lap, error) {
	n, err := p.optical.Provision(p.pooled(circuits))
	if err != nil {
		return nil, err
	}
	o := flow.Options{Service: p.service}
	if p.service == flow.LevelPriority {
		o.Tails = p.tails(n)
	}
	t, err := flow.Run(ctx, p.graph, n, p.optical.Routes, o)
	if err != nil {
		return nil, err
	}
	out := make([][]lap, len(p.laps))
	for j, laps := range p.laps {
		begin := p.m.s.Jobs[j].Phase
		for _, l := range laps {
			out[j] = append(out[j], lap{begin, t.End[l[1]]})
			begin = t.End[l[1]]
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
		order := small.Order()
		for k := len(order) - 1; k >= 0; k-- {
			i := order[k]
			for _, e := range small.Out(i) {
				tail[i] = max(tail[i], float64(e.Lag)+span[e.To])
			}
			span[i] = tail[i] + p.fastest(n, p.laps[j][0][0]+i)
		}
		for _, l := range p.laps[j] {
			copy(all[l[0]:], tail)
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
	played, err := p.play(ctx, d.Circuits())
	if err != nil {
		return err
	}
	from, to := engine.Time(0), engine.Never // when all jobs run
	for j, laps := range played {
		from, to = max(from, p.m.s.Jobs[j].Phase), min(to, laps[len(laps)-1].end)
	}
	mean := make([]engine.Time, len(played))
	measured := make([][]lap, len(played))
	for j, laps := range played {
		sum, most := engine.Time(0), engine.Time(0)
		for k, l := range laps {
			if k < p.m.s.Policy.Repeat.Warmup || l.start < from || l.end > to {
				continue
			}
			measured[j] = append(measured[j], l)
			sum += l.end - l.start
			most = max(most, l.end-l.start)
		}
		n := len(measured[j])
		if n == 0 {
			return fmt.Errorf("no iteration of job %s after its warm-up lies within the time that all jobs run: raise policy.repeat.iterations", p.m.s.Jobs[j].Name)
		}
		mean[j] = sum / engine.Time(n)
		row.Metrics[p.m.jobMetric(j, "iterations")] = float64(n)
		row.Metrics[p.m.jobMetric(j, "iteration_mean_s")] = mean[j].Seconds()
		row.Metrics[p.m.jobMetric(j, "iteration_max_s")] = most.Seconds()
		if j > 0 {
			row.Metrics[p.m.jobMetric(j, "drift")] = drift(measured[j], played[0])
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
func drift(of, cycles []lap) float64 {
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
