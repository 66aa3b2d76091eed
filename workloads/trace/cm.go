package trace

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
)

// This file reads connection matrices of htsim: readCM reads the lines, and cmAddOps
// creates the operations of ranks.

// isCM reports whether a file starts like a connection matrix.
func isCM(begin []byte) bool { return firstWordIs(begin, "Nodes") }

// cmFlow is a flow of htsim's connection matrix.
type cmFlow struct {
	src, dst int32
	start    engine.Time
	bytes    int64
	// Its id, and the trigger for which it waits; 0 if absent.
	id, trigger int64
	// Triggers fired when it is acknowledged and received; 0 if none.
	sendDone, recvDone int64
	line               int // line in the file
	hasSize            bool
}

// cmTrigger is a trigger of the matrix: flows fire it, and it starts other flows.
type cmTrigger struct {
	kind    string  // oneshot, multishot or barrier
	count   int     // number of firings that a barrier needs
	firedBy []int32 // flows that fire it, in file order
	// For each of these: fired when received, not when acknowledged.
	onReceive []bool
	starts    []int32 // flows that it starts, in file order
	line      int
}

// readCM reads a connection matrix of htsim:
//
//	Nodes 4
//	Connections 2
//	Triggers 1
//	0->1 id 1 start 0 size 1000 send_done_trigger 1
//	1->2 id 2 trigger 1 size 2000
//	trigger id 1 oneshot
//
// A flow is a message. It starts at a time in picoseconds, or when a trigger starts it.
// It may fire a trigger when it is received (recv_done_trigger) or acknowledged
// (send_done_trigger).
//
// A trigger makes flows wait for others by messages of 0 bytes between their ranks. If
// the result depends on which of several flows ends first, these messages go to wildcard
// receives.
func readCM(files []File, h *ReadOptions) (*Job, error) {
	if err := countOperations(files[0].Name, 2*bytes.Count(files[0].Data, []byte("->"))); err != nil {
		return nil, err
	}

	l := &lineReader{file: files[0]}
	j := &Job{}
	var flows []cmFlow
	triggers := map[int64]*cmTrigger{}
	header := map[string]int64{}
	for l.scan() {
		// A line is a header entry, a trigger or a flow.
		text, _, _ := strings.Cut(l.Text, "#")
		f := l.fields(text)
		if strings.Contains(strings.TrimSpace(text), "  ") {
			j.note("lines have more than one blank between words, which htsim does not read")
		}
		var err error
		switch {
		case len(f) == 0:
		case slices.Contains([]string{"Nodes", "Connections", "Triggers", "Failures"}, f[0]):
			// Header entries occur once.
			if _, twice := header[f[0]]; twice || len(f) != 2 {
				return nil, l.invalid(f[0]+" N, once", "%.60q", l.Text)
			}
			maxValue := int64(MaxBytes)
			if f[0] == "Nodes" {
				maxValue = MaxRanks
			}
			header[f[0]], err = parseInteger(f[0], f[1], 0, maxValue)
		case f[0] == "failure":
			return nil, l.invalid("fabric.failed_links and the like",
				"failures name switches of htsim's fat tree, which this fabric has not")
		case f[0] == "trigger":
			err = cmTriggerLine(f, l.Line, triggers)
		default:
			var flow cmFlow
			if flow, err = cmFlowLine(f, header["Nodes"]); err == nil {
				flow.line = l.Line
				flows = append(flows, flow)
			}
		}
		if err != nil {
			return nil, l.locate(err)
		}
	}

	// Compare the counts in the header with the file.
	for _, c := range []struct {
		name string
		n    int
	}{{"Connections", len(flows)}, {"Triggers", len(triggers)}} {
		if header[c.name] != int64(c.n) {
			return nil, l.invalid(fmt.Sprintf("%s %d, or all of them", c.name, c.n),
				"the header says %s %d, and there are %d", c.name, header[c.name], c.n)
		}
	}
	j.Ranks = int(header["Nodes"])
	return j, l.locate(cmAddOps(j, flows, triggers))
}

// cmTriggerLine reads a trigger.
func cmTriggerLine(f []string, line int, all map[int64]*cmTrigger) error {
	const want = "trigger id K oneshot, multishot or barrier count N"
	if len(f) < 4 || f[1] != "id" {
		return invalid(want, "a trigger of %d words", len(f))
	}

	id, err := parseInteger("its id", f[2], 1, math.MaxInt32)
	if err != nil {
		return err
	}

	t := &cmTrigger{kind: f[3], line: line}
	switch {
	case all[id] != nil:
		return invalid("ids that are used once", "trigger %d occurs twice", id)
	case t.kind == "barrier" && len(f) == 6 && f[4] == "count":
		n, err := parseInteger("count", f[5], 1, math.MaxInt32)
		if err != nil {
			return err
		}
		t.count = int(n)
	case (t.kind == "oneshot" || t.kind == "multishot") && len(f) == 4:
	default:
		return invalid(want, "a trigger %.60q", strings.Join(f[3:], " "))
	}
	all[id] = t
	return nil
}

// cmFlowLine reads a flow.
func cmFlowLine(f []string, nodes int64) (c cmFlow, err error) {
	src, dst, ok := strings.Cut(f[0], "->")
	if !ok {
		return c, invalid("SRC->DST and its keys", "a line that begins with %.40q", f[0])
	}

	// The source and the destination.
	ends := [2]int64{}
	for i, text := range []string{src, dst} {
		if ends[i], err = parseInteger("a node", text, 0, nodes-1); err != nil {
			return c, err
		}
	}
	c.src, c.dst = int32(ends[0]), int32(ends[1])

	// The keys with their values, in any order. addon and msg have no value.
	started, keys := false, make([]string, 0, 8)
	for i := 1; i < len(f); i++ {
		name := f[i]
		if name == "addon" || name == "msg" {
			continue
		}

		if i++; i >= len(f) {
			return c, invalid("a value after it", "%.40q has no value", name)
		}
		if slices.Contains(keys, name) {
			return c, invalid("each key once", "%.40q occurs twice", name)
		}
		keys = append(keys, name)

		switch name {
		case "start":
			var ps float64
			ps, err = strconv.ParseFloat(f[i], 64)
			if err != nil || !(ps >= 0) || ps > float64(maxComputeTime) {
				return c, invalid("picoseconds", "start is %.40q", f[i])
			}
			c.start, started = engine.Time(ps), true
		case "size":
			c.bytes, err = parseInteger(name, f[i], 0, MaxMessageBytes)
			c.hasSize = true
		case "id":
			c.id, err = parseInteger(name, f[i], 1, math.MaxInt64)
		case "trigger":
			c.trigger, err = parseInteger(name, f[i], 1, math.MaxInt32)
		case "send_done_trigger":
			c.sendDone, err = parseInteger(name, f[i], 1, math.MaxInt32)
		case "recv_done_trigger":
			c.recvDone, err = parseInteger(name, f[i], 1, math.MaxInt32)
		case "prio":
			_, err = parseInteger(name, f[i], math.MinInt32, math.MaxInt32)
		default:
			return c, invalid("id, start, trigger, size, send_done_trigger, recv_done_trigger, prio, addon or msg",
				"a key %.40q", name)
		}
		if err != nil {
			return c, err
		}
	}

	// Reject incomplete and contradictory flows.
	switch {
	case !c.hasSize:
		err = invalid("size B", "a flow without a size, which htsim leaves undefined")
	case c.bytes == 0:
		err = invalid("size B above 0", "a flow of size 0 is endless")
	case c.trigger > 0 && (started || c.id == 0):
		err = invalid("an id and no start", "a flow that waits for a trigger has a start, or no id")
	case c.trigger == 0 && !started:
		err = invalid("start PS, or trigger K", "a flow has neither start nor trigger")
	}
	return c, err
}

// cmAddOps adds the operations of the flows and triggers to j.
func cmAddOps(j *Job, flows []cmFlow, triggers map[int64]*cmTrigger) error {
	j.Ops = make([][]Op, j.Ranks)

	// Register each flow with the triggers that it fires and for which it waits.
	for i := range flows {
		c := &flows[i]
		for _, t := range []struct {
			id   int64
			recv bool
		}{{c.sendDone, false}, {c.recvDone, true}} {
			if t.id == 0 {
				continue
			}
			if triggers[t.id] == nil {
				return invalid("a trigger of that id",
					"line %d fires trigger %d, which is not there", c.line, t.id)
			}
			triggers[t.id].firedBy = append(triggers[t.id].firedBy, int32(i))
			triggers[t.id].onReceive = append(triggers[t.id].onReceive, t.recv)
		}

		if c.trigger == 0 {
			continue
		}
		if triggers[c.trigger] == nil {
			return invalid("a trigger of that id",
				"line %d waits for trigger %d, which is not there", c.line, c.trigger)
		}
		triggers[c.trigger].starts = append(triggers[c.trigger].starts, int32(i))
	}

	// add appends an operation of a rank and returns its index.
	add := func(rank int32, o Op) int32 {
		j.Ops[rank] = append(j.Ops[rank], o)
		return int32(len(j.Ops[rank]) - 1)
	}

	// Add the flows as messages. The tag of a message is the index of its flow.
	sent, received := make([]int32, len(flows)), make([]int32, len(flows))
	for i := range flows {
		c := &flows[i]
		name := fmt.Sprintf("flow of line %d", c.line)

		o := Op{Name: name, Kind: Send, Bytes: c.bytes, Peer: c.dst - c.src, Tag: uint32(i)}
		// A computation delays the start of the flow.
		if c.start > 0 {
			o.After = []int32{add(c.src, Op{Name: name + ", start", Kind: Compute, Duration: c.start})}
		}
		if c.src == c.dst {
			j.noteBytes("flows from a node to itself take no time", c.bytes)
		}
		sent[i] = add(c.src, o)
		received[i] = add(c.dst, Op{Name: name, Kind: Recv, Bytes: c.bytes, Peer: c.src - c.dst,
			Tag: uint32(i)})
	}

	// Messages of triggers have tags from firstTag on. A trigger may start all flows and be
	// fired by all flows, so the number of messages is limited: to 64 per flow on average,
	// and 65,536 more.
	const firstTag, maxWaitsPerFlow, allowance = 1 << 31, 64, 1 << 16
	tag := uint32(firstTag)

	// nextTag advances tag to the next unused one.
	nextTag := func() error {
		if tag++; int(tag-firstTag) > len(flows)*maxWaitsPerFlow+allowance {
			return invalid("fewer flows per trigger", "triggers make flows wait for too many others")
		}
		return nil
	}

	// addWait makes a flow wait for operation op of rank from, by a message of 0 bytes.
	addWait := func(from, op, flow int32) error {
		if err := nextTag(); err != nil {
			return err
		}
		to := flows[flow].src
		add(from, Op{Name: "trigger", Kind: Send, Peer: to - from, Tag: tag, After: []int32{op}})
		op = add(to, Op{Name: "trigger", Kind: Recv, Peer: from - to, Tag: tag})
		o := &j.Ops[to][sent[flow]]
		o.After = append(o.After, op)
		return nil
	}

	// fired returns the rank and the operation after which firing i of a trigger happens.
	fired := func(t *cmTrigger, i int) (rank, op int32) {
		c := &flows[t.firedBy[i]]
		if t.onReceive[i] {
			return c.dst, received[t.firedBy[i]]
		}
		return c.src, sent[t.firedBy[i]]
	}

	// Add a message for each dependency that a trigger causes.
	if err := cmCheckStarts(flows, triggers); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(triggers)) {
		t := triggers[id]

		if len(t.starts) == 0 {
			j.note("triggers start no flow")
			continue
		}
		done := func(i int) (rank, op int32) { return fired(t, i) }
		// If the order of firings depends on time, all firings go to one rank, which
		// receives them in the order of arrival.
		if len(t.firedBy) > t.firingsBefore(1) &&
			!(t.kind == "multishot" && len(t.firedBy) == len(t.starts) &&
				cmStartInOrder(flows, triggers, t.firedBy)) {
			if err := nextTag(); err != nil {
				return err
			}
			// home is the rank of the first started flow. taken lists its receives in
			// order.
			home, taken := flows[t.starts[0]].src, make([]int32, len(t.firedBy))
			for i := range t.firedBy {
				from, op := fired(t, i)
				add(from, Op{Name: "trigger", Kind: Send, Peer: home - from, Tag: tag, After: []int32{op}})
				taken[i] = add(home, Op{Name: "trigger", Kind: Recv, Peer: AnySource, Tag: tag})
			}
			done = func(i int) (rank, op int32) { return home, taken[i] }
		}

		for k, flow := range t.starts {
			// The k-th flow of a multishot waits for the k-th firing only, other flows
			// for all firings that start them.
			first, end := 0, t.firingsBefore(k+1)
			if t.kind == "multishot" {
				first = k
			}
			for i := first; i < end; i++ {
				rank, op := done(i)
				if err := addWait(rank, op, flow); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// firingsBefore returns the number of firings that start the k-th flow of the trigger,
// from 1. The k-th firing of a multishot starts the k-th flow in file order. A oneshot
// starts all flows at the first firing, a barrier at the count-th.
func (t *cmTrigger) firingsBefore(k int) int {
	switch t.kind {
	case "multishot":
		return k
	case "barrier":
		return t.count
	}
	return 1
}

// cmCheckStarts fails if some flow never starts. This does not depend on the order in
// which flows end.
func cmCheckStarts(flows []cmFlow, triggers map[int64]*cmTrigger) error {
	canStart, fired := make([]bool, len(flows)), map[int64]int{}
	// ready holds the flows that start and whose triggers are not fired yet.
	var ready []int32

	for i := range flows {
		if flows[i].trigger == 0 {
			canStart[i] = true
			ready = append(ready, int32(i))
		}
	}

	started := map[int64]int{} // number of started flows, by trigger
	for len(ready) > 0 {
		// Fire the triggers of a flow and start the flows that now have enough firings.
		c := &flows[ready[len(ready)-1]]
		ready = ready[:len(ready)-1]
		for _, id := range []int64{c.sendDone, c.recvDone} {
			if id == 0 {
				continue
			}

			t := triggers[id]
			fired[id]++
			for k := started[id]; k < len(t.starts) && fired[id] >= t.firingsBefore(k+1); k++ {
				canStart[t.starts[k]] = true
				ready = append(ready, t.starts[k])
				started[id] = k + 1
			}
		}
	}
	for i := range flows {
		if !canStart[i] {
			c, t := &flows[i], triggers[flows[i].trigger]
			return invalid("enough flows that fire it and do not wait for it",
				"trigger %d (line %d) is fired %d times by flows that start, so that line %d never starts",
				c.trigger, t.line, fired[c.trigger], c.line)
		}
	}
	return nil
}

// cmStartInOrder reports whether each flow of a list starts after the previous one,
// through triggers with a single firing flow.
func cmStartInOrder(flows []cmFlow, triggers map[int64]*cmTrigger, list []int32) bool {
	for i := 1; i < len(list); i++ {
		flow, steps := list[i], 0
		for flow != list[i-1] {
			// Follow the triggers back from the flow.
			t := triggers[flows[flow].trigger]
			if steps++; t == nil || len(t.firedBy) != 1 || steps > len(flows) {
				return false
			}
			flow = t.firedBy[0]
		}
	}
	return true
}
