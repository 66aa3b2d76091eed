// This file folds training steps in which all GPUs of a stage, in all replicas, do the same at the
// same time. The folded graph is the quotient of the whole graph by an equitable partition: one
// transfer stands for a class of identical transfers.

package calls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/collective"
	traffic "sim/workloads/collective"
	"sim/workloads/training"
)

// Quotient lists the classes of identical transfers that the transfers of a folded graph represent.
type Quotient struct {
	// Class is the class of each task, an index in Flows. It is -1 for computes.
	Class []int32
	// Flows lists the flows of the identical transfers, by class. A flow with several of these
	// transfers occurs several times.
	Flows [][]engine.Flow

	index map[string]int32 // class by content of its flows
}

// ErrAsymmetric is wrapped by errors if transfers that must be identical differ.
var ErrAsymmetric = errors.New("calls: GPUs of a stage differ")

// class returns the class of flows, and adds it if it does not exist.
func (f *Quotient) class(flows []engine.Flow) int32 {
	slices.SortFunc(flows, func(a, b engine.Flow) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	key := fmt.Sprint(flows)
	if c, ok := f.index[key]; ok {
		return c
	}
	if f.index == nil {
		f.index = map[string]int32{}
	}
	c := int32(len(f.Flows))
	f.index[key], f.Flows = c, append(f.Flows, flows)
	return c
}

// setClass sets the class of a task.
func (f *Quotient) setClass(task, class int32) {
	for len(f.Class) <= int(task) {
		f.Class = append(f.Class, -1)
	}
	f.Class[task] = class
}

// Size returns the number of transfers that a transfer represents.
func (f *Quotient) Size(task int32) float64 { return float64(len(f.Flows[f.Class[task]])) }

// Traffic returns the total bytes between each pair of nodes, of all transfers that the tasks of g
// represent.
func (f *Quotient) Traffic(name string, nodes int, g *engine.Graph) (*traffic.Traffic, error) {
	bytes := make([]int64, len(f.Flows))
	for i, t := range g.Tasks {
		if t.Kind == engine.Transfer {
			bytes[f.Class[i]] += t.Bytes
		}
	}
	sum := &engine.Graph{}
	for c, flows := range f.Flows {
		for _, x := range flows {
			sum.AddTask(engine.Task{Kind: engine.Transfer, Src: x.Src, Dst: x.Dst, Flows: 1, Bytes: bytes[c]})
		}
	}
	return traffic.FromGraph(name, nodes, sum)
}

// Routes returns the routes of a folded graph g on network n. The function route returns the routes
// of a graph with one transfer per flow. The function part returns the part of the network that a
// resource belongs to, such as its tier. A transfer uses one resource of each class of
// indistinguishable resources, with the number of identical transfers on it as weight.
// If the classes of transfers do not fit their routes (engine.FoldUses), Routes returns
// ErrAsymmetric.
func (f *Quotient) Routes(
	g *engine.Graph, n *engine.Network, part func(resource int32) int,
	route func(g *engine.Graph) (*engine.Routes, error),
) (*engine.Routes, error) {
	flows, class := &engine.Graph{}, []int32{}
	for c, all := range f.Flows {
		for _, x := range all {
			flows.AddTask(engine.Task{Kind: engine.Transfer, Src: x.Src, Dst: x.Dst, Flows: 1, Bytes: 1})
			class = append(class, int32(c))
		}
	}
	r, err := route(flows)
	if err != nil {
		return nil, err
	}
	folded, _, err := engine.FoldUses(n, class, r, part)
	if errors.Is(err, engine.ErrAsymmetric) {
		folded, _, err = engine.FoldUses(n, class, withoutWideLinks(n, r), part)
	}
	if errors.Is(err, engine.ErrAsymmetric) {
		return nil, fmt.Errorf("%w: %w", ErrAsymmetric, err)
	}
	if err != nil {
		return nil, err
	}
	return engine.NewRoutes(len(g.Tasks), func(all []engine.Use, task int32) []engine.Use {
		if g.Tasks[task].Kind == engine.Transfer {
			all = append(all, folded.Of(f.Class[task])...)
		}
		return all
	}), nil
}

// withoutWideLinks returns the routes of transfers without the links that never limit a transfer: the
// rate of such a link is at least the total rate of the links that its transfers take next. Links
// inside a non-blocking switch are an example. Ends can differ by the rounding of rates, 1 ps.
func withoutWideLinks(n *engine.Network, r *engine.Routes) *engine.Routes {
	numTasks := len(r.Start) - 1
	const unknown = -1                         // rate of a link whose transfers end or divide behind it
	nextRate := make([]float64, n.Resources()) // total rate of the next links, indexed by resource
	isNext := map[[2]int32]bool{}              // pairs of a resource and a next one
	for task := range int32(numTasks) {
		uses := r.Of(task)
		for k, u := range uses {
			switch {
			case nextRate[u.Resource] == unknown:
			case k+1 == len(uses) || u.Weight != 1 || uses[k+1].Weight != 1:
				nextRate[u.Resource] = unknown
			default:
				pair := [2]int32{u.Resource, uses[k+1].Resource}
				if !isNext[pair] {
					isNext[pair] = true
					nextRate[u.Resource] += n.Rate(pair[1])
				}
			}
		}
	}
	return engine.NewRoutes(numTasks, func(all []engine.Use, task int32) []engine.Use {
		for _, u := range r.Of(task) {
			isWide := nextRate[u.Resource] != unknown && n.Rate(u.Resource) >= nextRate[u.Resource]
			if !isWide {
				all = append(all, u)
			}
		}
		return all
	})
}

// foldedTask is a class of identical tasks of a schedule: transfers, or milestones of ranks.
type foldedTask struct {
	bytes    int64
	duration engine.Time // of a milestone
	pairs    [][2]int32  // source and destination of each transfer, as ranks of the group; nil for milestones
	// after lists the classes that it waits for, in order. -1 stands for the task after which
	// ranks are ready.
	after []foldedEdge
}

// foldedEdge is a dependency on a class.
type foldedEdge struct {
	class int32
	// needsArrival reports whether it waits until data have arrived, not only until they are
	// sent.
	needsArrival bool
}

// foldSchedule folds a schedule: tasks with equal bytes that wait for the same classes form one
// class. domains holds the domain of each rank, or is nil; transfers inside and between domains are
// in different classes. The milestones of all ranks must form one class, the last.
func foldSchedule(s *collective.Schedule, domains []int) ([]foldedTask, error) {
	g := &engine.Graph{}
	rank, ready := map[int32]int32{}, make([]int32, len(s.Group)) // rank of each node; ready task of each rank
	for r, node := range s.Group {
		rank[node], ready[r] = int32(r), g.AddTask(engine.Task{})
	}
	done := s.Append(g, collective.AppendOptions{Ready: ready})
	if err := g.Freeze(); err != nil {
		return nil, err
	}

	var tasks []foldedTask
	class, found := slices.Repeat([]int32{-1}, len(g.Tasks)), map[string]int32{}
	for _, id := range g.Order() {
		if int(id) < len(ready) {
			continue
		}
		t := &g.Tasks[id]
		z := foldedTask{bytes: t.Bytes, duration: t.Duration}
		for _, e := range g.In(id) {
			needs := class[e.From] >= 0 && g.Tasks[e.From].Kind == engine.Transfer && g.NeedsArrival(e)
			z.after = append(z.after, foldedEdge{class[e.From], needs})
		}

		// The arrival of a transfer is later than its end.
		slices.SortFunc(z.after, func(a, b foldedEdge) int {
			if a.class == b.class && a.needsArrival != b.needsArrival {
				if a.needsArrival {
					return -1
				}
				return 1
			}
			return cmp.Compare(a.class, b.class)
		})
		z.after = slices.CompactFunc(z.after, func(a, b foldedEdge) bool { return a.class == b.class })

		isInside, pair := true, [2]int32{rank[t.Src], rank[t.Dst]}
		if domains != nil {
			isInside = domains[pair[0]] == domains[pair[1]]
		}
		key := fmt.Sprint(t.Kind, t.Bytes, t.Duration, isInside, z.after)
		c, ok := found[key]
		if !ok {
			c = int32(len(tasks))
			found[key], tasks = c, append(tasks, z)
		}
		if class[id] = c; t.Kind == engine.Transfer {
			tasks[c].pairs = append(tasks[c].pairs, pair)
		}
	}

	for _, id := range done {
		if class[id] != class[done[0]] {
			return nil, fmt.Errorf("%w: ranks of %s %v end at different times", ErrAsymmetric, s.Kind, s.Group)
		}
	}
	if last := class[done[0]]; int(last) != len(tasks)-1 {
		return nil, fmt.Errorf("%w: transfers of %s follow its end", ErrAsymmetric, s.Kind)
	}
	return tasks, nil
}

// isSame reports whether two schedules have been folded to the same classes.
func isSame(a, b []foldedTask) bool {
	return slices.EqualFunc(a, b, func(x, y foldedTask) bool {
		return x.bytes == y.bytes && x.duration == y.duration && slices.Equal(x.pairs, y.pairs) && slices.Equal(x.after, y.after)
	})
}

// foldedCall is a call of all groups of a stage.
type foldedCall struct {
	tasks []foldedTask
	class []int32       // class in Quotient of each task
	ends  []engine.Flow // endpoints of one transfer of each task
}

// foldedCallKey identifies the calls of a stage that are folded in the same manner.
type foldedCallKey struct {
	call  training.Call
	stage int
}

// foldCall folds a call of all groups of a stage, in all replicas.
func (e *Expander) foldCall(
	ctx context.Context, f *Quotient, c training.Call, stage int,
) (*foldedCall, error) {
	c.Position = training.LayerStart // positions do not affect the schedule
	key := foldedCallKey{c, stage}
	if x, ok := e.folded[key]; ok {
		return x, nil
	}

	groups := e.Spec.Groups(c, 0, stage)
	if c.Dim != training.Sync || c.WithinStage {
		for r := 1; r < e.Spec.Replicas(); r++ {
			groups = append(groups, e.Spec.Groups(c, r, stage)...)
		}
	}
	out := &foldedCall{}
	var nodes [][]int32 // of each group
	for i, group := range groups {
		s, err := e.Schedule(ctx, c, group)
		if err != nil {
			return nil, err
		}
		var domains []int
		if e.Domains != nil {
			domains = e.Domains(s.Group)
		}
		tasks, err := foldSchedule(s, domains)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out.tasks = tasks
		} else if !isSame(tasks, out.tasks) {
			return nil, fmt.Errorf("%w: groups of the %s call have different schedules", ErrAsymmetric, c.Dim)
		}
		nodes = append(nodes, s.Group)
	}

	for _, t := range out.tasks {
		if t.pairs == nil {
			out.class, out.ends = append(out.class, -1), append(out.ends, engine.Flow{})
			continue
		}

		// Prefer endpoints that imply which transfers must have arrived (addEdge).
		end := t.pairs[0]
		for _, p := range t.pairs {
			implies := func(a foldedEdge) bool {
				return a.class < 0 || (nodes[0][p[0]] != out.ends[a.class].Src) == a.needsArrival
			}
			if !slices.ContainsFunc(t.after, func(a foldedEdge) bool { return !implies(a) }) {
				end = p
				break
			}
		}
		out.ends = append(out.ends, engine.Flow{Src: nodes[0][end[0]], Dst: nodes[0][end[1]]})

		var flows []engine.Flow
		for _, group := range nodes {
			for _, p := range t.pairs {
				flows = append(flows, engine.Flow{Src: group[p[0]], Dst: group[p[1]]})
			}
		}
		out.class = append(out.class, f.class(flows))
	}
	if e.folded == nil {
		e.folded = map[foldedCallKey]*foldedCall{}
	}
	e.folded[key] = out
	return out, nil
}

// ExpandFolded is like Expand for a folded graph (training.BuildOptions.Folded). It records the
// classes of transfers in f.
func (e *Expander) ExpandFolded(
	ctx context.Context, f *Quotient,
) func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
	return func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
		stage := int(group[0]) / e.Spec.StageGPUs() % e.Spec.PP
		x, err := e.foldCall(ctx, f, c, stage)
		if err != nil {
			return nil, err
		}
		cost := e.TaskCost.Scale(float64(len(g.Tasks) + len(x.tasks)))
		if err := cost.CheckLimits("calls of the step", "fewer"); err != nil {
			return nil, fmt.Errorf("%w: %w", collective.ErrUnserved, err)
		}

		ids := make([]int32, len(x.tasks))
		for i, t := range x.tasks {
			task := engine.Task{Duration: t.duration} // milestones have no node, so they wait for arrivals
			if t.pairs != nil {
				task = engine.Task{Kind: engine.Transfer, Src: x.ends[i].Src, Dst: x.ends[i].Dst, Flows: 1, Bytes: t.bytes}
			}
			ids[i] = g.AddTask(task)
			f.setClass(ids[i], x.class[i])
			for _, a := range t.after {
				from := ready[0]
				if a.class >= 0 {
					from = ids[a.class]
				}
				f.addEdge(g, from, ids[i], a.needsArrival)
			}
		}
		return slices.Repeat(ids[len(ids)-1:], len(group)), nil
	}
}

// addEdge adds a dependency of task to on task from. If the nodes of the two do not imply whether it
// waits for the arrival of from (engine.Graph.NeedsArrival), a milestone between them does.
func (f *Quotient) addEdge(g *engine.Graph, from, to int32, needsArrival bool) {
	isTransfer := g.Tasks[from].Kind == engine.Transfer
	if isTransfer && g.NeedsArrival(engine.Edge{From: from, To: to}) != needsArrival {
		milestone := engine.Task{}
		if !needsArrival {
			milestone = engine.ComputeAt(g.Tasks[from].Src, 0)
		}
		id := g.AddTask(milestone)
		g.AddDependency(from, id)
		from = id
	}
	g.AddDependency(from, to)
}

// FoldHops records the classes of the transfers of a folded step that belong to no call: transfers
// of all GPUs in all replicas between two stages, or to their neighbours on the ring of replicas. It
// also replaces ranks by nodes.
func (e *Expander) FoldHops(f *Quotient, it *training.Iteration) {
	s := e.Spec
	replicas, gpus := s.Replicas(), s.StageGPUs()
	destination := func(m *training.TaskMeta, replica, gpu int) int32 {
		switch {
		case m.Phase != training.Sync:
			return s.Rank(replica, int(m.ToStage), gpu)
		case s.SplitsRing() && gpu >= gpus/2: // this half sends in the other direction
			return s.Rank((replica+replicas-1)%replicas, int(m.Stage), gpu)
		}
		return s.Rank((replica+1)%replicas, int(m.Stage), gpu)
	}
	classes := map[[2]int32]int32{} // by stages; both are equal on the ring of replicas
	for i := range it.Graph.Tasks {
		t, m := &it.Graph.Tasks[i], &it.Meta[i]
		if t.Kind != engine.Transfer || m.InCall {
			continue
		}
		key := [2]int32{m.Stage, m.ToStage}
		c, ok := classes[key]
		if !ok {
			var flows []engine.Flow
			for r := range replicas {
				for g := range gpus {
					flows = append(flows, engine.Flow{
						Src: e.NodeOfRank[s.Rank(r, int(m.Stage), g)], Dst: e.NodeOfRank[destination(m, r, g)],
					})
				}
			}
			c = f.class(flows)
			classes[key] = c
		}
		f.setClass(int32(i), c)
		t.Src, t.Dst = e.NodeOfRank[t.Src], e.NodeOfRank[t.Dst]
	}
	for len(f.Class) < len(it.Graph.Tasks) {
		f.Class = append(f.Class, -1)
	}
}

// FoldedTasks estimates the number of tasks of a folded step.
func FoldedTasks(s *training.Spec) float64 {
	passes := 2 * float64(s.Microbatches*s.PP*s.Chunks)
	n := 2 * passes // passes, and transfers between stages
	if !s.CallsInGraph() {
		for v := range s.VirtualStages() {
			s.StageMessages(v, func(_ int64, times, parts int) { n += float64(times * parts) })
		}
		return n
	}
	for _, c := range s.StepCalls() {
		ranks := float64(len(s.Groups(c.Call, 0, c.VirtualStage%s.PP)[0]))
		transfers := ranks - 1
		switch c.Kind {
		case training.AllReduce:
			transfers *= 2
		case training.AllToAll:
			transfers = 1
		}
		n += float64(c.Count) * (transfers + 2) // a milestone and a compute follow
	}
	return math.Ceil(n)
}
