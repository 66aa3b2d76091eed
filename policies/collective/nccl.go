package collective

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// expandNCCL performs a call as the library NCCL or RCCL of Options.Machine does: by the algorithm
// and protocol with the lowest predicted time (libraryCall).
//
// The library divides the data into chunks that follow each other. The transfers of the schedule
// are the limit of small chunks: each is the flow of all data from one rank to another, and all
// are sent at the same time. Schedule.Delay is the rest of the predicted time: launch, latencies,
// and filling the pipelines.
func expandNCCL(b *builder, j *subCall) error {
	m := b.options.Machine
	if m == nil {
		return unserved(j, "a machine of sim list machines")
	}
	if err := m.CheckCollectives(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnserved, err)
	}
	if b.folder != nil {
		return fmt.Errorf("%w: flows of pipelines", engine.ErrAsymmetric)
	}

	nodes := b.machineNodes(j)
	perNode := len(slices.MaxFunc(nodes, func(a, c []int32) int { return len(a) - len(c) }))
	c := libraryCall{m: m, kind: j.kind, n: len(j.ranks), nodes: len(nodes), perNode: perNode, bytes: float64(j.data.bytes())}
	switch j.kind {
	case AllToAll:
		c.bytes = float64(b.Bytes) * float64(c.n)
		for i := range len(b.Sizes) / c.n { // of each sender
			sent := int64(0)
			for k, size := range b.Sizes[i*c.n : (i+1)*c.n] {
				if k != i {
					sent += size
				}
			}
			c.bytes = max(c.bytes, float64(sent)*float64(c.n)/float64(c.n-1))
		}
	case ReduceScatter, AllGather:
		c.bytes = 0
		for _, block := range j.blocks {
			c.bytes += float64(block.bytes())
		}
	case SendReceive:
		inOneNode := slices.ContainsFunc(nodes, func(node []int32) bool {
			return slices.Contains(node, int32(j.root)) && slices.Contains(node, int32(j.peer))
		})
		if inOneNode {
			c.nodes = 1
		}
	}
	best := c.best(b.options.Method)

	if best.algorithm != directMethod && c.n*perNode > MaxTransfers {
		return unserved(j, "at most %d ranks on nodes of %d", MaxTransfers/perNode, perNode)
	}
	b.IsPipelined = true
	f := newFlowSums(b, j, nodes)
	f.add(nodes, c, best.algorithm)
	f.send()
	delay := best.seconds() - f.seconds(c)
	b.Delay = max(b.Delay, engine.Time(math.Round(max(0, delay)*float64(engine.Second))))
	return nil
}

// machineNodes returns the members of a call on each node of the machine, whose GPUs are consecutive
// nodes of the network.
func (b *builder) machineNodes(j *subCall) (nodes [][]int32) {
	index := map[int]int{}
	for i, r := range j.ranks {
		k := int(b.Group[r]) / b.options.Machine.GPUsPerNode
		if _, ok := index[k]; !ok {
			index[k] = len(nodes)
			nodes = append(nodes, nil)
		}
		nodes[index[k]] = append(nodes[index[k]], int32(i))
	}
	return nodes
}

// flowSums adds the flows of a call between the same members, and sends them.
type flowSums struct {
	*builder
	j *subCall
	// pairs are pairs of members in the order of their first flows, and bytes their sums.
	pairs [][2]int32
	bytes map[[2]int32]float64

	node []int // of each member
	// load is the bytes that a member sends to others and receives from others of its node, and
	// then of other nodes.
	load [4][]float64
}

// newFlowSums returns the sums of a call without flows. nodes lists the members of each node.
func newFlowSums(b *builder, j *subCall, nodes [][]int32) *flowSums {
	f := &flowSums{builder: b, j: j, bytes: map[[2]int32]float64{}, node: make([]int, len(j.ranks))}
	for i, members := range nodes {
		for _, m := range members {
			f.node[m] = i
		}
	}
	for i := range f.load {
		f.load[i] = make([]float64, len(j.ranks))
	}
	return f
}

// flow adds bytes from one member to another.
func (f *flowSums) flow(from, to int32, bytes float64) {
	pair := [2]int32{from, to}
	if from == to || bytes <= 0 {
		return
	}
	if _, ok := f.bytes[pair]; !ok {
		f.pairs = append(f.pairs, pair)
	}
	f.bytes[pair] += bytes
	f.addLoad(from, to, bytes)
}

// addLoad adds bytes to the load of the links of two members.
func (f *flowSums) addLoad(from, to int32, bytes float64) {
	k := 0
	if f.node[from] != f.node[to] {
		k = 2
	}
	f.load[k][from] += bytes
	f.load[k+1][to] += bytes
}

// add adds the flows of a call by an algorithm.
func (f *flowSums) add(nodes [][]int32, c libraryCall, algorithm string) {
	switch algorithm {
	case ringMethod:
		f.addRings(nodes, c)
	case treeMethod:
		for _, node := range nodes { // a chain per channel, in both directions
			for channel := range node {
				for i := range len(node) - 1 {
					a, b := node[(channel+i)%len(node)], node[(channel+i+1)%len(node)]
					f.flow(a, b, c.bytes/float64(len(node)))
					f.flow(b, a, c.bytes/float64(len(node)))
				}
			}
		}
		f.addTrees(nodes, c)
	case switchMethod, switchTreeMethod:
		f.addSwitches(nodes, c)
		f.addTrees(nodes, c)
	case directMethod:
		f.sendDirect(c)
	}
}

// addRings adds the flows of nodeRings. Each ring carries an equal part of the vector.
func (f *flowSums) addRings(nodes [][]int32, c libraryCall) {
	kind := f.j.kind
	rings := nodeRings(nodes, c.perNode)
	part := c.bytes / float64(len(rings))
	for _, ring := range rings {
		n := len(ring)
		for i, from := range ring {
			to := ring[(i+1)%n]
			switch root := int32(f.j.root); {
			case kind == Broadcast && to == root, kind == Reduce && from == root:
				// The chain begins or ends here.
			case kind == Broadcast, kind == Reduce:
				f.flow(from, to, part)
			case kind == AllReduce:
				f.flow(from, to, 2*part*float64(n-1)/float64(n))
			default:
				f.flow(from, to, part*float64(n-1)/float64(n))
			}
		}
	}
}

// nodeRings returns rings of all members. Each ring enters a node at the index at which it has left
// the previous one, another index per ring, so that the rings use all network interfaces.
func nodeRings(nodes [][]int32, rings int) [][]int32 {
	all := make([][]int32, rings)
	for k := range all {
		for i, node := range nodes {
			node = slices.Concat(node[k%len(node):], node[:k%len(node)])
			if i%2 == 1 {
				slices.Reverse(node)
			}
			all[k] = append(all[k], node...)
		}
	}
	return all
}

// addTrees adds the flows of double binary trees between nodes, for each index of a rank in its node:
// half of its data goes up and down either tree.
func (f *flowSums) addTrees(nodes [][]int32, c libraryCall) {
	for channel := range c.perNode {
		member := func(node int) int32 { return nodes[node][channel%len(nodes[node])] }
		for node := 1; node < len(nodes); node++ {
			parent := binaryTreeParent(node, len(nodes))
			for _, edge := range [][2]int{{node, parent}, {secondTree(node, len(nodes)), secondTree(parent, len(nodes))}} {
				bytes := c.bytes / float64(c.perNode) / 2
				f.flow(member(edge[0]), member(edge[1]), bytes)
				f.flow(member(edge[1]), member(edge[0]), bytes)
			}
		}
	}
}

// binaryTreeParent returns the parent of a node other than 0 in a binary tree with root 0, whose
// leaves have odd numbers (Sanders, Speck and Träff 2009).
func binaryTreeParent(node, n int) int {
	bit := node & -node
	if parent := (node ^ bit) | bit<<1; parent < n {
		return parent
	}
	return node ^ bit
}

// secondTree returns the node that has the place of node in a second tree, in which other nodes are
// leaves.
func secondTree(node, n int) int {
	if n%2 == 0 {
		return n - 1 - node
	}
	return (node + 1) % n
}

// addSwitches adds flows that load the links of every GPU as a reduction in the switch of its node
// does: a GPU sends its vector and receives the sum, and also sends and receives its share of both.
func (f *flowSums) addSwitches(nodes [][]int32, c libraryCall) {
	slower := c.m.ScaleUp.Efficiency / c.m.ScaleUp.Reduction // than other flows
	for _, node := range nodes {
		n := float64(len(node))
		for i, from := range node {
			f.flow(from, node[(i+1)%len(node)], c.bytes*(n+1)/n*slower)
		}
	}
}

// sendDirect sends a flow per pair of members that exchange data.
func (f *flowSums) sendDirect(c libraryCall) {
	send := func(from, to int32, bytes float64) {
		if bytes > 0 {
			f.addLoad(from, to, bytes)
			f.sendFlow(f.j.ranks[from], f.j.ranks[to], int64(math.Ceil(bytes)))
		}
	}
	if f.j.kind == SendReceive {
		send(int32(f.j.root), int32(f.j.peer), c.bytes)
		return
	}
	n := len(f.j.ranks)
	for s := 1; s < n && f.err == nil; s++ {
		for i := range n {
			k := (i + s) % n
			bytes := c.bytes / float64(n)
			switch f.j.kind {
			case AllToAll:
				bytes = float64(f.j.pairBlock(i, k).bytes())
			case AllReduce:
				bytes *= 2
			}
			send(int32(i), int32(k), bytes)
		}
	}
}

// send appends a transfer per pair to the schedule.
func (f *flowSums) send() {
	for _, pair := range f.pairs {
		f.sendFlow(f.j.ranks[pair[0]], f.j.ranks[pair[1]], int64(math.Ceil(f.bytes[pair])))
	}
}

// seconds returns the time of the flows on the links of an idle machine.
func (f *flowSums) seconds(c libraryCall) (longest float64) {
	for k, loads := range f.load {
		rate := c.m.HostBandwidth()
		if k >= 2 {
			rate = c.m.NICBandwidth()
		}
		longest = max(longest, slices.Max(loads)*8/float64(rate))
	}
	return longest
}
