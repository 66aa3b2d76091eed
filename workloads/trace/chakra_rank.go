package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// chNodeLinks holds the properties of a node that are needed after its operation is
// created.
type chNodeLinks struct {
	id     uint64
	stream int64
	// Ends of the node's data and control dependencies in the list of all dependency ids.
	// The dependencies of consecutive nodes follow one another.
	dataEnd, controlEnd int32
	// gpu reports whether the node is a kernel or message. It is false for operations of the
	// host.
	gpu bool
}

// Streams of a rank in the mode one-at-a-time.
const (
	hostStream = 1 + iota
	kernelStream
	messageStream
)

// readRank creates the operations of a rank. count is the number of nodes in its file.
//
// Nodes refer to each other by id. Control dependencies may contradict data dependencies,
// in which case dropContradictions removes some of them.
func (c *chakraReader) readRank(rank int, f File, count int) error {
	ops := make([]Op, 0, count)
	nodes := make([]chNodeLinks, 0, count)
	dependencyIDs := []uint64(nil)

	// Create the operations, and keep the ids of their dependencies in one list.
	err := chVisit(f, func(n *chNode) error {
		o, err := c.operation(rank, n)
		if err != nil {
			return locate(err, f.Name, n.record, n.offset)
		}
		l := chNodeLinks{id: n.id, gpu: n.kind >= chComp && n.ints["is_cpu_op"] == 0,
			dataEnd:    int32(len(dependencyIDs) + len(n.data)),
			controlEnd: int32(len(dependencyIDs) + len(n.data) + len(n.ctrl))}

		if s, ok := n.ints["stream"]; ok {
			l.stream = max(0, s)
		} else {
			l.stream = max(0, n.ints["tid"])
		}
		ops = append(ops, o)
		nodes = append(nodes, l)
		dependencyIDs = append(append(dependencyIDs, n.data...), n.ctrl...)
		return nil
	})
	if err != nil {
		return err
	}

	// fail returns an error at node i. It reads the file again to find the node's
	// position.
	fail := func(i int, want, format string, args ...any) error {
		k, found := 0, error(nil)
		_ = chVisit(f, func(n *chNode) error {
			if found = nil; k == i {
				found = n.errorAt(f, fmt.Sprintf(format, args...), want)
			}
			k++
			return found
		})

		return found
	}

	// Sort the nodes by id to look up dependencies, and reject duplicate ids.
	byID := make([]int32, len(nodes)) // nodes sorted by id
	for i := range byID {
		byID[i] = int32(i)
	}
	slices.SortFunc(byID, func(a, b int32) int {
		return cmp.Or(cmp.Compare(nodes[a].id, nodes[b].id), cmp.Compare(a, b))
	})

	duplicate := int32(math.MaxInt32)
	for i := 1; i < len(byID); i++ {
		if nodes[byID[i]].id == nodes[byID[i-1]].id {
			duplicate = min(duplicate, byID[i])
		}
	}
	if duplicate < math.MaxInt32 {
		return fail(int(duplicate), "ids that are used once", "node %d occurs twice", nodes[duplicate].id)
	}

	// find returns the index of the node with an id.
	find := func(id uint64) (int32, bool) {
		i, ok := slices.BinarySearchFunc(byID, id,
			func(i int32, id uint64) int { return cmp.Compare(nodes[i].id, id) })
		if !ok {
			return 0, false
		}
		return byID[i], true
	}

	// Resolve the ids of dependencies.
	hasSuccessor := make([]bool, len(nodes))
	control := make([][]int32, len(nodes))
	start := 0
	dependencies := make([]int32, 0, len(dependencyIDs))
	for i := range nodes {
		n := &nodes[i]
		begin := len(dependencies)
		for _, d := range dependencyIDs[start:n.dataEnd] {
			k, ok := find(d)
			if !ok {
				return fail(i, "all nodes of the rank",
					"node %d (%.40q) depends on the data of node %d, which is not there", n.id,
					ops[i].Name, d)
			}
			dependencies = append(dependencies, k)
		}

		ops[i].After = dependencies[begin:len(dependencies):len(dependencies)]
		begin = len(dependencies)

		// A control dependency on an unknown node invalidates all control dependencies of
		// the node.
		for _, d := range dependencyIDs[n.dataEnd:n.controlEnd] {
			k, ok := find(d)
			if !ok {
				dependencies = dependencies[:begin]
				c.note("nodes have control dependencies that name no node: none of theirs is taken")
				break
			}
			if k != int32(i) {
				dependencies = append(dependencies, k)
			}
		}

		control[i], start = dependencies[begin:len(dependencies):len(dependencies)], int(n.controlEnd)
	}

	// Merge control and data dependencies and sort the operations.
	if c.options.ControlCycles != "refuse" {
		for range dropContradictions(ops, control) {
			c.note("control dependencies close a cycle with data dependencies and are dropped")
		}
	}
	for i := range ops {
		o := &ops[i]
		if len(control[i]) > 0 {
			o.After = append(o.After, control[i]...)
		}
		slices.Sort(o.After)
		o.After = slices.Compact(o.After)
		for _, a := range o.After {
			hasSuccessor[a] = true
		}
	}

	// Find the source node of each operation in the new order.
	out, position, err := topologicalOrder(ops)
	if err != nil {
		return locate(err, f.Name, wholeFile, firstByte)
	}

	source := make([]int, len(out))
	for i, k := range position {
		source[k] = i
	}

	// Put the operations on streams, as workload.streams requires.
	mode := c.options.Streams
	if mode == "auto" || mode == "" {
		// Chained streams, if there are kernels and none of them has a successor.
		mode = "free"
		hasKernels := slices.ContainsFunc(nodes, func(n chNodeLinks) bool { return n.gpu })
		if hasKernels && !slices.ContainsFunc(source,
			func(i int) bool { return nodes[i].gpu && hasSuccessor[i] }) {
			mode = "chained"
		}
	}

	number := map[int64]int32{} // number of each stream, from 1
	for k := range out {
		n, o := &nodes[source[k]], &out[k]
		switch {
		case o.Kind == Recv:
		case mode == "chained" && n.gpu:
			if number[n.stream] == 0 {
				number[n.stream] = int32(len(number) + 1)
			}
			o.Stream = number[n.stream]
		case mode != "one-at-a-time" || o.Kind == Join:
		case !n.gpu:
			o.Stream = hostStream
		case o.Kind == Compute:
			o.Stream = kernelStream
		default:
			o.Stream = messageStream
		}
	}

	c.Ops[rank] = out
	return nil
}

// invalid returns an error about a node.
func (n *chNode) invalid(want, format string, args ...any) error {
	return invalid(want, "node %d (%.40q) %s", n.id, n.name, fmt.Sprintf(format, args...))
}

// operation returns the operation of a node. Memory accesses become computations, because
// they do not use the network. Metadata nodes become joins.
func (c *chakraReader) operation(rank int, n *chNode) (o Op, err error) {
	o.Name = n.name
	if maxMicros := uint64(maxComputeTime / engine.Microsecond); n.micros > maxMicros {
		return o, n.invalid(fmt.Sprintf("at most %d", maxMicros), "lasts for %d us", n.micros)
	}

	// The duration is in microseconds, or exact in files of WriteChakra.
	busy := engine.Time(n.micros) * engine.Microsecond
	if exact, ok := n.ints[chPicoseconds]; ok {
		if busy = engine.Time(exact); busy < 0 || busy > maxComputeTime {
			return o, n.invalid(fmt.Sprintf("from 0 to %d", int64(maxComputeTime)),
				"has "+chPicoseconds+" %d", exact)
		}
	}

	if size := n.ints["comm_size"]; size < 0 || size > MaxMessageBytes {
		return o, n.invalid(fmt.Sprintf("from 0 to %d", int64(MaxMessageBytes)), "has comm_size %d", size)
	}

	if number := n.ints[chTaskNumber]; number > 0 && number < completionTag {
		o.Tag = uint32(number)
	}

	// Fill in the operation by the type of the node.
	switch n.kind {
	case chMeta:
	case chLoad, chStore:
		c.note("loads and stores of memory last as long as they say, and move nothing")
		o.Kind, o.Duration = Compute, busy
	case chComp:
		o.Kind, o.Duration = Compute, busy
		for _, name := range []string{"num_ops", "tensor_size"} {
			if n.ints[name] < 0 {
				return o, n.invalid("0 or more", "has %s %d", name, n.ints[name])
			}
		}
		if work := n.ints["num_ops"]; busy == 0 && work > 0 {
			o.Duration, err = c.rooflineTime(float64(work), float64(n.ints["tensor_size"]))
		}

	case chSend, chRecv:
		err = c.message(rank, n, &o)
	case chColl:
		err = c.collective(rank, n, busy, &o)
	}

	return o, err
}

// message sets the fields of o for a send or receive.
func (c *chakraReader) message(rank int, n *chNode, o *Op) (err error) {
	ownEnd, otherEnd := "comm_src", "comm_dst" // attributes that name a rank
	if n.kind == chRecv {
		ownEnd, otherEnd = otherEnd, ownEnd
	}
	if r, ok := n.ints[ownEnd]; ok && r != int64(rank) {
		c.note("messages name another rank at their own end than that of their file, and are taken to be the file's")
	}

	// Tags are 32 bits wide, signed or unsigned; the highest bit is reserved for
	// completionTag.
	tag := n.ints["comm_tag"]
	if tag != int64(int32(tag)) && tag != int64(uint32(tag)) {
		return n.invalid("a number of 32 bits", "has comm_tag %d", tag)
	}
	o.Bytes, o.Tag = n.ints["comm_size"], uint32(tag)&^completionTag
	if n.ints[chDependency] != 0 {
		o.Bytes, o.Tag = 0, o.Tag|completionTag
		if n.kind == chSend {
			c.note("messages that are dependencies (" + chDependency + ") carry nothing")
		}
	}

	o.Kind = Recv
	if n.kind == chSend {
		o.Kind = Send
		o.SendOrder = int32(max(0, min(n.ints[chSendOrder], math.MaxInt32)))
	}
	o.Peer, err = c.peer(rank, n, otherEnd)
	return err
}

// peer returns the relative peer that the given attribute of a message names.
func (c *chakraReader) peer(rank int, n *chNode, attribute string) (int32, error) {
	p, ok := n.ints[attribute]
	if !ok {
		return 0, n.invalid("a trace whose messages name both ranks",
			"has no %s, as traces converted from PyTorch have it", attribute)
	}
	if p < 0 || p >= int64(c.Ranks) {
		return 0, n.invalid(fmt.Sprintf("a rank from 0 to %d", c.Ranks-1), "has %s %d", attribute, p)
	}
	return int32(p) - int32(rank), nil
}

// collective sets the fields of o for a call of a collective. If n is only the host's part of the
// call, it becomes a computation of the given duration, and another node transfers the data.
func (c *chakraReader) collective(rank int, n *chNode, duration engine.Time, o *Op) error {
	code, typed := n.ints["comm_type"]
	size, sized := n.ints["comm_size"]
	if !typed || !sized && chCollectives[code] != Barrier {
		if n.ints["is_cpu_op"] == 0 {
			return n.invalid("both attributes", "is a collective without comm_type and comm_size")
		}

		c.note("calls of collectives on the host are host work, and their kernels move the bytes")
		o.Kind, o.Duration = Compute, duration
		return nil
	}

	coll, ok := chCollectives[code]
	if !ok {
		return n.invalid("a supported collective", "is a %s (comm_type %d), which is not read",
			cmp.Or(chUnsupported[code], "collective"), code)
	}

	// Find the group by its name or its number.
	name := n.group
	if g, ok := n.ints["comm_group"]; ok && name == "" {
		name = fmt.Sprint(g)
	}

	group, ok := c.index[name]
	if !ok {
		return n.invalid("workload.groups, the file of groups",
			"calls the group %.20q, which is not known", name)
	}
	if c.Groups[group].SetOf[rank] < 0 {
		return n.invalid("a group of its rank",
			"calls the group %.20q, which rank %d is not in", name, rank)
	}

	if n.hasPartialDims {
		c.note("collectives are of some of ASTRA-sim's dimensions (involved_dim), and are taken to be of all")
	}

	o.Kind = Call
	o.Collective = coll
	o.Bytes = size
	o.Group = group
	if coll == AllGather { // comm_size is the contribution of one rank
		o.Bytes *= int64(len(c.members(rank, o)))
	}
	return nil
}

// rooflineTime returns the time of a computation with the given operations and bytes of
// memory traffic.
func (c *chakraReader) rooflineTime(work, bytes float64) (engine.Time, error) {
	if c.options.PeakTFLOPS == 0 {
		c.note("computations say their operations and no time, and take none: give peak_tflops and memory_bandwidth")
		return 0, nil
	}
	if bytes == 0 {
		return 0, nil // as in ASTRA-sim
	}
	s := work / (c.options.PeakTFLOPS * 1e12)
	if c.options.MemoryBandwidth > 0 {
		s = max(s, 8*bytes/float64(c.options.MemoryBandwidth))
	}
	d, err := engine.FromSeconds(s)
	if err != nil || d > maxComputeTime {
		return 0, invalid("fewer operations, or a higher peak_tflops",
			"%.3g operations take %.3g s", work, s)
	}
	return d, nil
}
