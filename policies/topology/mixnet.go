package topology

import "sim/engine"

// MixNetOptions holds the options of mixnet-during.
type MixNetOptions struct {
	Layers int `key:"layers" doc:"number of consecutive layers whose traffic one topology serves; 0 selects the fastest of 1, 2, 4, ..." default:"0" max:"1000000"`
}

// mixnet is the rule of mixnet-during (after MixNet, SIGCOMM 2025, Sec. 5). When a layer
// has ended, circuits are allocated greedily by the traffic matrix of the next layer.
// Every pair of pods keeps one circuit, in place of MixNet's packet network. Further
// circuits go one at a time to the pair with the most bytes per circuit.
//
// A layer consists of the transfers at equal depth of the graph, such as the all-to-alls
// of experts, or of several of these together. By default the fastest number is selected.
func mixnet(m *ruleInput) (*Sequence, error) {
	depth, deepest := m.transferDepths()
	ends, err := m.p.transferEnds(m.ctx, m.static)
	if err != nil {
		return nil, err
	}
	if n := m.o.MixNet.Layers; n > 0 {
		return m.layeredSequence(depth, deepest, n, ends), nil
	}
	var best *Sequence
	fastest := never
	for n := 1; ; n *= 2 {
		q := m.layeredSequence(depth, deepest, n, ends)
		if cycle, ok := m.simulate(q); ok && cycle.meanMakespan() < fastest {
			best, fastest = q, cycle.meanMakespan()
		}
		if n > deepest || m.ctx.Err() != nil {
			return best, m.ctx.Err()
		}
	}
}

// transferDepths returns the maximum number of transfers on a path before each task,
// indexed by task, and the maximum of these over all transfers.
func (m *ruleInput) transferDepths() (depth []int, deepest int) {
	g, class := m.p.Graph, m.p.bundleOfTask()
	depth = make([]int, len(g.Tasks))
	for _, id := range g.Order() {
		next := depth[id]
		if class[id] >= 0 {
			deepest = max(deepest, next)
			next++
		}
		for _, e := range g.Out(id) {
			depth[e.To] = max(depth[e.To], next)
		}
	}
	return depth, deepest
}

// layeredSequence returns the sequence with one topology per group of layers. depth[id] is the
// layer of transfer id, from 0 to deepest; a group has the given number of layers. ends are the
// transfer ends of Problem.transferEnds.
func (m *ruleInput) layeredSequence(depth []int, deepest, layers int, ends [][]engine.Time) *Sequence {
	// The bytes on each link, and the transfers of each bundle, of each group.
	groups := deepest/layers + 1
	load, count := make([][]float64, groups), make([][]int, groups)
	for i := range groups {
		load[i], count[i] = make([]float64, len(m.p.Fabric.Network.Links)), make([]int, len(m.maxCircuits))
	}
	class := m.p.bundleOfTask()
	for _, id := range m.p.networkTransfers() {
		if class[id] < 0 {
			continue
		}
		i := depth[id] / layers
		count[i][class[id]]++
		for _, u := range m.p.Fabric.Routes.Of(id) {
			if int(u.Resource) < len(load[i]) {
				load[i][u.Resource] += float64(m.p.Graph.Tasks[id].Bytes) * u.Weight
			}
		}
	}

	// The topology of a group starts when the transfers of all groups before it have ended: carried
	// counts these transfers per bundle.
	q, carried := &Sequence{}, make([]int, len(m.maxCircuits))
	for i := range groups {
		x := m.allocateGreedily(m.p.ones(), m.bundleLoads(load[i]))
		if i == 0 {
			q.First = x
		} else {
			s := Step{Bundle: AtEnd, Circuits: x}
			for e, n := range carried { // the event is the carried bundle that ends last on the static topology
				if n > 0 && (s.Bundle == AtEnd || ends[e][n-1] > ends[s.Bundle][s.Count-1]) {
					s.Bundle, s.Count = e, n
				}
			}
			if s.Bundle != AtEnd {
				q.Steps = append(q.Steps, s)
			}
		}
		for e, n := range count[i] {
			carried[e] += n
		}
	}

	q.Steps = append(q.Steps, Step{Bundle: AtEnd, Circuits: q.First})
	q.removeUnchanged()
	return q
}
