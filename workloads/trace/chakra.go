package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"sim/engine"
)

// The types of nodes, and of their collectives (mlcommons/chakra, et_def.proto).
const (
	chMeta = 1 + iota
	chLoad
	chStore
	chComp
	chSend
	chRecv
	chColl
)

var chCollectives = map[int64]Collective{0: AllReduce, 2: AllGather, 5: Broadcast, 6: AllToAll, 7: ReduceScatter, 8: ReduceScatter, 9: Barrier}
var chRefused = map[int64]string{1: "REDUCE", 3: "GATHER", 4: "SCATTER"}

// chNode is a node of an execution trace. Its record counts the messages of a protobuf file, or the nodes of a JSON file,
// from 1; at is the byte of the file where it begins.
type chNode struct {
	id         uint64
	name       string
	kind       int64
	ctrl, data []uint64
	micros     uint64
	values     string // of its inputs
	ints       map[string]int64
	group      string
	partly     bool // of the dimensions of ASTRA-sim's network
	record, at int
}

// maxDependencies bounds the dependencies of the nodes of all files together, which take up to 40 bytes each.
const maxDependencies = 2 * MaxOperations

// maxMembers bounds groups times ranks: of each group it is kept, in 4 bytes, which of its sets each rank is in.
const maxMembers = 1 << 25

// isChakra: JSON of a workload graph, or a delimited message that has a version or nothing.
func isChakra(begin []byte) bool {
	if text := bytes.TrimLeft(begin, " \t\r\n"); bytes.HasPrefix(text, []byte("{")) {
		return bytes.Contains(text, []byte("workload_graph")) || bytes.Contains(text, []byte("-chakra."))
	}
	n, k := protowire.ConsumeVarint(begin)
	if k < 0 || n == 0 && len(begin) < 4 || n > math.MaxInt32 || int(n) > len(begin) && len(begin) < detected {
		return false
	}
	if meta := begin[k:min(len(begin), k+int(n))]; len(meta) > 0 {
		if len(begin) >= k+int(n) && chFields(meta, func(protowire.Number, chValue) error { return nil }) != nil {
			return false
		}
		num, typ, m := protowire.ConsumeTag(meta)
		return m > 0 && typ == protowire.BytesType && (num == 1 || num == 2)
	}
	_, m := protowire.ConsumeVarint(begin[k:])
	return m > 0 && len(begin) > k+m && begin[k+m]&7 <= 2 && begin[k+m]>>3 >= 1 && begin[k+m]>>3 <= 10
}

// readChakra reads a file of each rank.
func readChakra(files []File, h *Hints) (*Job, error) {
	// as in ASTRA-sim data is sent whether its receive has begun or not
	j := &Job{Ranks: len(files), Ops: make([][]Op, len(files)), Eager: MaxSend}
	c := &chakra{Job: j, h: h, sets: map[string][][]int32{}}
	if len(files) > MaxRanks {
		return nil, &Error{File: files[0].Name, Problem: fmt.Sprintf("%d ranks", len(files)), Want: fmt.Sprintf("at most %d", MaxRanks)}
	}
	if err := c.groupFile(); err != nil {
		return nil, err
	}
	counts, count, dependencies := make([]int, len(files)), 0, 0
	c.own = map[string][]int32{}
	for rank, f := range files { // nothing but groups is kept before all nodes are counted
		clear(c.own)
		err := chVisit(f, func(n *chNode) error {
			counts[rank]++
			dependencies += len(n.ctrl) + len(n.data)
			if count++; count > MaxOperations {
				return countOperations(f.Name, count)
			}
			if dependencies > maxDependencies {
				return &Error{File: f.Name, Problem: fmt.Sprintf("holds %d dependencies or more", dependencies), Want: fmt.Sprintf("at most %d", maxDependencies)}
			}
			if n.kind < chMeta || n.kind > chColl {
				return &Error{f.Name, n.record, n.at, fmt.Sprintf("node %d (%.40q) is of type %d", n.id, n.name, n.kind), "a type from 1 to 7"}
			}
			return c.groupNode(rank, f, n)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := c.groups(files[0]); err != nil {
		return nil, err
	}
	for rank, f := range files {
		if err := c.rank(rank, f, counts[rank]); err != nil {
			return nil, err
		}
	}
	return j, nil
}

type chakra struct {
	*Job
	h     *Hints
	sets  map[string][][]int32 // by name of a group
	own   map[string][]int32   // of these, those of the rank whose file is read
	index map[string]int32     // of it in Job.Groups
}

// chVisit visits the nodes of a file in order. The node is valid until visit returns; its dependencies are those of one
// node at most maxDependencies.
func chVisit(f File, visit func(n *chNode) error) error {
	if bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return chJSON(f, visit)
	}
	rest, record := f.Data, 0
	var n chNode
	for len(rest) > 0 {
		at := len(f.Data) - len(rest)
		record++
		size, k := protowire.ConsumeVarint(rest)
		if k < 0 || size > uint64(len(rest)-k) {
			return &Error{f.Name, record, at, fmt.Sprintf("a message of %d bytes, and %d are left", size, len(rest)-max(0, k)), "a whole file"}
		}
		message := rest[k : k+int(size)]
		rest = rest[k+int(size):]
		if record == 1 {
			if err := chVersion(message); err != nil {
				return placed(err, f.Name, record, at)
			}
			continue
		}
		clear(n.ints)
		n = chNode{record: record, at: at, ctrl: n.ctrl[:0], data: n.data[:0], ints: n.ints}
		if err := n.decode(message); err != nil {
			return placed(err, f.Name, record, at)
		}
		if err := visit(&n); err != nil {
			return err
		}
	}
	return nil
}

// chVersion holds the first message, which is metadata, against what is read.
func chVersion(b []byte) error {
	return chFields(b, func(num protowire.Number, v chValue) error {
		if num == 1 && strings.HasPrefix(v.text(), "0.0.1") {
			return wrong("a trace of Chakra 1.0", "is of schema %.20q, as ASTRA-sim 1.0 and STG 0.0.1 write it", v.text())
		}
		return nil
	})
}

// chValue is the value of a field.
type chValue struct {
	typ   protowire.Type
	n     uint64
	bytes []byte
}

func (v chValue) text() string { return string(v.bytes) }

// list returns the numbers of a packed field, or the only one.
func (v chValue) list(to []uint64) ([]uint64, error) {
	if v.typ != protowire.BytesType {
		return append(to, v.n), nil
	}
	count := 0
	for _, b := range v.bytes {
		if b < 0x80 { // ends a number
			count++
		}
	}
	if len(to)+count > maxDependencies {
		return nil, wrong(fmt.Sprintf("at most %d", maxDependencies), "a list of %d numbers", len(to)+count)
	}
	to = slices.Grow(to, count)
	for b := v.bytes; len(b) > 0; {
		n, k := protowire.ConsumeVarint(b)
		if k < 0 {
			return nil, wrong("protobuf as Chakra 1.0 has it", "a list of numbers is cut off")
		}
		to, b = append(to, n), b[k:]
	}
	return to, nil
}

// chFields visits the fields of a message.
func chFields(b []byte, visit func(num protowire.Number, v chValue) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return wrong("protobuf as Chakra 1.0 has it", "a field is broken: %v", protowire.ParseError(n))
		}
		b = b[n:]
		v := chValue{typ: typ}
		switch typ {
		case protowire.VarintType:
			v.n, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(b)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(b)
			v.n = uint64(x)
		case protowire.Fixed64Type:
			v.n, n = protowire.ConsumeFixed64(b)
		default:
			return wrong("protobuf as Chakra 1.0 has it", "field %d has the wire type %d", num, typ)
		}
		if n < 0 {
			return wrong("protobuf as Chakra 1.0 has it", "field %d is cut off", num)
		}
		b = b[n:]
		if err := visit(num, v); err != nil {
			return err
		}
	}
	return nil
}

// decode reads a Node.
func (n *chNode) decode(b []byte) error {
	return chFields(b, func(num protowire.Number, v chValue) (err error) {
		switch {
		case num == 1 && v.typ == protowire.VarintType:
			n.id = v.n
		case num == 2 && v.typ == protowire.BytesType:
			n.name = v.text()
		case num == 3 && v.typ == protowire.VarintType:
			n.kind = int64(v.n)
		case num == 4:
			n.ctrl, err = v.list(n.ctrl)
		case num == 5:
			n.data, err = v.list(n.data)
		case num == 7:
			n.micros = v.n
		case num == 8 && v.typ == protowire.BytesType:
			return chFields(v.bytes, func(num protowire.Number, v chValue) error {
				if num == 1 {
					n.values = v.text()
				}
				return nil
			})
		case num == 10 && v.typ == protowire.BytesType:
			return n.attribute(v.bytes)
		case num <= 3:
			return wrong("a trace of Chakra 1.0", "field %d of a node is of another type, as in ASTRA-sim 1.0", num)
		}
		return err
	})
}

// chRead are the attributes that are read.
var chRead = []string{"is_cpu_op", "num_ops", "tensor_size", "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "comm_group", "stream", "tid", chPicoseconds, chDependency, chNumbered, chTurn}

// attribute reads an AttributeProto, whose number may be of any type.
func (n *chNode) attribute(b []byte) error {
	name := ""
	return chFields(b, func(num protowire.Number, v chValue) error {
		var x int64
		switch num {
		case 1:
			name = v.text()
			return nil
		case 3:
			x = int64(math.Float64frombits(v.n))
		case 5:
			x = int64(math.Float32frombits(uint32(v.n)))
		case 7, 9, 11, 13, 19, 21, 25, 27:
			x = int64(v.n)
		case 15, 17:
			x = protowire.DecodeZigZag(v.n)
		case 23:
			x = int64(int32(v.n))
		case 28:
			if name == "involved_dim" {
				return chFields(v.bytes, func(_ protowire.Number, v chValue) error {
					all, err := v.list(nil)
					n.partly = n.partly || slices.Contains(all, 0)
					return err
				})
			}
			return nil
		case 29:
			if name == "pg_name" || name == "comm_group" && n.group == "" {
				n.group = v.text()
			}
			return nil
		default:
			return nil
		}
		if slices.Contains(chRead, name) {
			if n.ints == nil {
				n.ints = map[string]int64{}
			}
			n.ints[name] = x
		}
		return nil
	})
}

// chName is the name of a group in JSON, which may be written as a number.
type chName string

// UnmarshalJSON reads a string or a number.
func (n *chName) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(n))
	}
	var number json.Number
	err := json.Unmarshal(b, &number)
	*n = chName(number)
	return err
}

// chList is a list of at most maxDependencies numbers in JSON.
type chList []uint64

// UnmarshalJSON counts the numbers before it reads them.
func (l *chList) UnmarshalJSON(b []byte) error {
	if count := 1 + bytes.Count(b, []byte{','}); count > maxDependencies {
		return fmt.Errorf("a list of %d numbers, of at most %d", count, maxDependencies)
	} else if cap(*l) < count {
		*l = make(chList, 0, count)
	}
	return json.Unmarshal(b, (*[]uint64)(l))
}

// chJSONNode is a node of the JSON variant.
type chJSONNode struct {
	ID       uint64 `json:"Id"`
	Name     string `json:"Name"`
	Kind     int64  `json:"NodeType"`
	Ctrl     chList `json:"ctrlDeps"`
	Data     chList `json:"data_deps"`
	Runtime  uint64 `json:"runtime"`
	CPU      bool   `json:"is_cpu_op"`
	CommType *int64 `json:"comm_type"`
	CommSize *int64 `json:"comm_size"`
	CommSrc  *int64 `json:"comm_src"`
	CommDst  *int64 `json:"comm_dst"`
	CommTag  *int64 `json:"comm_tag"`
	Ops      *int64 `json:"num_ops"`
	Tensor   *int64 `json:"tensor_size"`
	Stream   *int64 `json:"stream"`
	Group    chName `json:"pg_name"`
	Number   chName `json:"comm_group"`
}

// chJSON visits the nodes of the JSON variant, each read alone.
func chJSON(f File, visit func(n *chNode) error) error {
	const what, want = "a Chakra trace", `{"workload_graph": [{"Id": 1, ...}]}`
	schema, listed := "", false // schema is of what PyTorch writes of the host
	var g chJSONNode
	n := chNode{ints: map[string]int64{}}
	node := func(value []byte, at int) error {
		g = chJSONNode{Ctrl: g.Ctrl[:0], Data: g.Data[:0]}
		if err := json.Unmarshal(value, &g); err != nil {
			if typed := (*json.UnmarshalTypeError)(nil); errors.As(err, &typed) {
				typed.Field = strings.TrimSuffix("workload_graph."+typed.Field, ".")
			}
			return jsonError(f, at, err, what, want)
		}
		clear(n.ints)
		n = chNode{id: g.ID, name: g.Name, kind: g.Kind, ctrl: g.Ctrl, data: g.Data, micros: g.Runtime, group: string(cmp.Or(g.Group, g.Number)), record: n.record + 1, at: at, ints: n.ints}
		if g.CPU {
			n.ints["is_cpu_op"] = 1
		}
		for _, a := range [...]struct {
			name  string
			value *int64
		}{
			{"comm_type", g.CommType}, {"comm_size", g.CommSize}, {"comm_src", g.CommSrc}, {"comm_dst", g.CommDst},
			{"comm_tag", g.CommTag}, {"num_ops", g.Ops}, {"tensor_size", g.Tensor}, {"stream", g.Stream},
		} {
			if a.value != nil {
				n.ints[a.name] = *a.value
			}
		}
		return visit(&n)
	}
	r := jsonReader{data: f.Data}
	err := r.object(func(key string) error {
		switch {
		case strings.EqualFold(key, "workload_graph") && r.next() == '[':
			if listed {
				return &Error{f.Name, 1, r.at, "workload_graph is there twice", "one list of nodes"}
			}
			listed = true
			return r.array(func() error {
				value, at, err := r.value()
				if err != nil {
					return err
				}
				return node(value, at)
			})
		case strings.EqualFold(key, "schema"):
			value, at, err := r.value()
			if err != nil {
				return err
			}
			if err := json.Unmarshal(value, &schema); err != nil {
				return jsonError(f, at, err, what, want)
			}
			return nil
		default:
			value, at, err := r.value()
			if err == nil && !json.Valid(value) || strings.EqualFold(key, "workload_graph") && string(value) != "null" {
				return &Error{f.Name, 1 + bytes.Count(f.Data[:at], []byte{'\n'}), at, fmt.Sprintf("is no JSON of %s: the value of %.40q", what, key), want}
			}
			return err
		}
	})
	if fault := (jsonFault{}); errors.As(err, &fault) {
		return jsonError(f, 0, err, what, want)
	}
	if err == nil && !listed && schema != "" {
		return &Error{f.Name, 1, 0, fmt.Sprintf("is what PyTorch wrote of the host (schema %.40q), which has no kernels and is not converted", schema), "what chakra_trace_link and chakra_converter make of it"}
	}
	return err
}

// groupFile reads the file of groups, by name their ranks.
func (c *chakra) groupFile() error {
	if c.h.GroupFile.Name == "" {
		return nil
	}
	var of map[string][]int32
	if err := json.Unmarshal(c.h.GroupFile.Data, &of); err != nil {
		return jsonError(c.h.GroupFile, 0, err, "groups", `{"1": [0, 1], "2": [2, 3]}`)
	}
	for name, ranks := range of {
		c.sets[name] = [][]int32{ranks}
	}
	return nil
}

// groupNode reads the groups that a node of a rank's metadata has, as PyTorch's profiler says them.
func (c *chakra) groupNode(rank int, f File, n *chNode) error {
	if n.kind != chMeta || !strings.Contains(n.name, "process_group:init") || len(n.values) < 4 {
		return nil
	}
	var groups []struct {
		Name  string  `json:"pg_name"`
		Ranks []int32 `json:"ranks"`
	}
	if err := json.Unmarshal([]byte(n.values[2:len(n.values)-2]), &groups); err != nil {
		return &Error{f.Name, n.record, n.at, "has groups that are no JSON: " + strings.TrimPrefix(err.Error(), "json: "), `[{"pg_name": "0", "ranks": [0, 1]}]`}
	}
	for _, g := range groups {
		if !slices.Contains(g.Ranks, int32(rank)) {
			continue // all ranks, or not its own
		}
		if before, known := c.own[g.Name]; known && !slices.Equal(before, g.Ranks) {
			return &Error{f.Name, n.record, n.at, fmt.Sprintf("rank %d is in two groups %.40q", rank, g.Name), "groups whose names differ"}
		} else if known {
			continue
		}
		c.own[g.Name] = g.Ranks
		if !slices.ContainsFunc(c.sets[g.Name], func(s []int32) bool { return slices.Equal(s, g.Ranks) }) {
			c.sets[g.Name] = append(c.sets[g.Name], g.Ranks)
		}
	}
	return nil
}

// groups makes the groups: all ranks first, then those of names.
func (c *chakra) groups(f File) error {
	every := make([]int32, c.Ranks)
	for r := range every {
		every[r] = int32(r)
	}
	whole, _ := NewGroup("all", c.Ranks, [][]int32{every})
	c.Groups, c.index = append(c.Groups, whole), map[string]int32{"": 0, "0": 0}
	if n := len(c.sets); n > maxMembers/c.Ranks {
		return &Error{File: f.Name, Problem: fmt.Sprintf("%d groups of %d ranks", n, c.Ranks), Want: fmt.Sprintf("at most %d", maxMembers/c.Ranks)}
	}
	for _, name := range slices.Sorted(maps.Keys(c.sets)) {
		g, err := NewGroup(name, c.Ranks, c.sets[name])
		if err != nil {
			file := f.Name
			if c.h.GroupFile.Name != "" {
				file = c.h.GroupFile.Name
			}
			return &Error{File: file, Problem: err.Error(), Want: fmt.Sprintf("ranks from 0 to %d, each once", c.Ranks-1)}
		}
		c.index[name] = int32(len(c.Groups))
		c.Groups = append(c.Groups, g)
	}
	return nil
}

// chLinks is what of a node is kept beside its operation: its id, the stream that it names, and where its dependencies
// on data and on control end in the list of all, in which those of the nodes follow each other.
type chLinks struct {
	id                uint64
	stream            int64
	dataEnd, controls int32
	gpu               bool
}

// rank makes the operations of a rank, whose file has so many nodes.
func (c *chakra) rank(rank int, f File, count int) error {
	ops, nodes, named := make([]Op, 0, count), make([]chLinks, 0, count), []uint64(nil)
	err := chVisit(f, func(n *chNode) error {
		o, err := c.op(rank, n)
		if err != nil {
			return placed(err, f.Name, n.record, n.at)
		}
		l := chLinks{id: n.id, gpu: n.kind >= chComp && n.ints["is_cpu_op"] == 0, dataEnd: int32(len(named) + len(n.data)), controls: int32(len(named) + len(n.data) + len(n.ctrl))}
		if s, ok := n.ints["stream"]; ok {
			l.stream = max(0, s)
		} else {
			l.stream = max(0, n.ints["tid"])
		}
		ops, nodes, named = append(ops, o), append(nodes, l), append(append(named, n.data...), n.ctrl...)
		return nil
	})
	if err != nil {
		return err
	}
	fail := func(i int, want, format string, args ...any) error {
		k, found := 0, error(nil)
		_ = chVisit(f, func(n *chNode) error {
			if found = nil; k == i {
				found = &Error{f.Name, n.record, n.at, fmt.Sprintf(format, args...), want}
			}
			k++
			return found
		})
		return found
	}
	byID := make([]int32, len(nodes)) // nodes in the order of their ids
	for i := range byID {
		byID[i] = int32(i)
	}
	slices.SortFunc(byID, func(a, b int32) int { return cmp.Or(cmp.Compare(nodes[a].id, nodes[b].id), cmp.Compare(a, b)) })
	twice := int32(math.MaxInt32)
	for i := 1; i < len(byID); i++ {
		if nodes[byID[i]].id == nodes[byID[i-1]].id {
			twice = min(twice, byID[i])
		}
	}
	if twice < math.MaxInt32 {
		return fail(int(twice), "ids that are used once", "node %d is there twice", nodes[twice].id)
	}
	find := func(id uint64) (int32, bool) {
		i, ok := slices.BinarySearchFunc(byID, id, func(i int32, id uint64) int { return cmp.Compare(nodes[i].id, id) })
		if !ok {
			return 0, false
		}
		return byID[i], true
	}
	follows, control := make([]bool, len(nodes)), make([][]int32, len(nodes))
	at, room := 0, make([]int32, 0, len(named))
	for i := range nodes {
		n := &nodes[i]
		begin := len(room)
		for _, d := range named[at:n.dataEnd] {
			k, ok := find(d)
			if !ok {
				return fail(i, "all nodes of the rank", "node %d (%.40q) depends on the data of node %d, which is not there", n.id, ops[i].Name, d)
			}
			room = append(room, k)
		}
		ops[i].After = room[begin:len(room):len(room)]
		begin = len(room)
		for _, d := range named[n.dataEnd:n.controls] {
			k, ok := find(d)
			if !ok {
				room = room[:begin]
				c.note("nodes have control dependencies that name no node: none of theirs is taken", 0)
				break
			}
			if k != int32(i) {
				room = append(room, k)
			}
		}
		control[i], at = room[begin:len(room):len(room)], int(n.controls)
	}
	if c.h.ControlCycles != "refuse" {
		for range dropContradictions(ops, control) {
			c.note("control dependencies close a cycle with data dependencies and are dropped", 0)
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
			follows[a] = true
		}
	}
	out, to, err := ordered(ops)
	if err != nil {
		return &Error{File: f.Name, Problem: assertWhat(err), Want: "dependencies without a cycle"}
	}
	from := make([]int, len(out))
	for i, k := range to {
		from[k] = i
	}
	mode := c.h.Streams
	if mode == "auto" || mode == "" {
		mode = "free"
		some := slices.ContainsFunc(nodes, func(n chLinks) bool { return n.gpu })
		if some && !slices.ContainsFunc(from, func(i int) bool { return nodes[i].gpu && follows[i] }) {
			mode = "chained"
		}
	}
	switch mode {
	case "chained":
		number := map[int64]int32{} // of streams
		for k := range out {
			n := &nodes[from[k]]
			if !n.gpu || out[k].Kind == Recv {
				continue
			}
			if number[n.stream] == 0 {
				number[n.stream] = int32(len(number) + 1)
			}
			out[k].Stream = number[n.stream]
		}
	case "one-at-a-time":
		for k := range out {
			switch {
			case out[k].Kind == Recv || out[k].Kind == Join:
			case !nodes[from[k]].gpu:
				out[k].Stream = 1
			case out[k].Kind == Compute:
				out[k].Stream = 2
			default:
				out[k].Stream = 3
			}
		}
	}
	c.Ops[rank] = out
	return nil
}

// assertWhat is what an error says is wrong.
func assertWhat(err error) string {
	what, _, _ := strings.Cut(err.Error(), "; want ")
	return what
}

// op makes an operation of a node.
func (c *chakra) op(rank int, n *chNode) (o Op, err error) {
	o.Name = n.name
	if most := uint64(mostTime / engine.Microsecond); n.micros > most {
		return o, wrong(fmt.Sprintf("at most %d", most), "node %d (%.40q) lasts for %d us", n.id, n.name, n.micros)
	}
	busy := engine.Time(n.micros) * engine.Microsecond
	if exact, ok := n.ints[chPicoseconds]; ok {
		if busy = engine.Time(exact); busy < 0 || busy > mostTime {
			return o, wrong(fmt.Sprintf("from 0 to %d", int64(mostTime)), "node %d (%.40q) has "+chPicoseconds+" %d", n.id, n.name, exact)
		}
	}
	size, sized := n.ints["comm_size"]
	if size < 0 || size > MaxSend {
		return o, wrong(fmt.Sprintf("from 0 to %d", int64(MaxSend)), "node %d (%.40q) has comm_size %d", n.id, n.name, size)
	}
	other := func(name string) (int32, error) {
		p, ok := n.ints[name]
		if !ok {
			return 0, wrong("a trace whose messages name both ranks", "node %d (%.40q) has no %s, as traces converted from PyTorch have it", n.id, n.name, name)
		}
		if p < 0 || p >= int64(c.Ranks) {
			return 0, wrong(fmt.Sprintf("a rank from 0 to %d", c.Ranks-1), "node %d (%.40q) has %s %d", n.id, n.name, name, p)
		}
		return int32(p) - int32(rank), nil
	}
	if number := n.ints[chNumbered]; number > 0 && number < noBytes {
		o.Tag = uint32(number)
	}
	switch n.kind {
	case chMeta:
	case chLoad, chStore:
		c.note("loads and stores of memory last as long as they say, and move nothing", 0)
		o.Kind, o.Dur = Compute, busy
	case chComp:
		o.Kind, o.Dur = Compute, busy
		for _, name := range []string{"num_ops", "tensor_size"} {
			if n.ints[name] < 0 {
				return o, wrong("0 or more", "node %d (%.40q) has %s %d", n.id, n.name, name, n.ints[name])
			}
		}
		if work := n.ints["num_ops"]; busy == 0 && work > 0 {
			o.Dur, err = c.roofline(float64(work), float64(n.ints["tensor_size"]))
		}
	case chSend, chRecv:
		if at, ok := n.ints[map[int64]string{chSend: "comm_src", chRecv: "comm_dst"}[n.kind]]; ok && at != int64(rank) {
			c.note("messages name another rank at their own end than that of their file, and are taken to be the file's", 0)
		}
		if tag := n.ints["comm_tag"]; tag != int64(int32(tag)) && tag != int64(uint32(tag)) {
			return o, wrong("a number of 32 bits", "node %d (%.40q) has comm_tag %d", n.id, n.name, tag)
		}
		if o.Bytes, o.Tag = size, uint32(n.ints["comm_tag"])&^(1<<31); n.ints[chDependency] != 0 {
			if o.Bytes, o.Tag = 0, o.Tag|noBytes; n.kind == chSend {
				c.note("messages that are dependencies ("+chDependency+") carry nothing", 0)
			}
		}
		if o.Kind = Send; n.kind == chRecv {
			o.Kind = Recv
			o.Peer, err = other("comm_src")
		} else {
			o.Peer, err = other("comm_dst")
			o.Turn = int32(max(0, min(n.ints[chTurn], math.MaxInt32)))
		}
	case chColl:
		code, typed := n.ints["comm_type"]
		if !typed || !sized && code != 9 {
			if n.ints["is_cpu_op"] == 0 {
				return o, wrong("both", "node %d (%.40q) is a collective without comm_type and comm_size", n.id, n.name)
			}
			c.note("calls of collectives on the host are host work, and their kernels move the bytes", 0)
			o.Kind, o.Dur = Compute, busy
			return o, nil
		}
		coll, ok := chCollectives[code]
		if !ok {
			return o, wrong("another collective", "node %d (%.40q) is a %s (comm_type %d), which is not read", n.id, n.name, cmp.Or(chRefused[code], "collective"), code)
		}
		name := n.group
		if g, ok := n.ints["comm_group"]; ok && name == "" {
			name = fmt.Sprint(g)
		}
		group, ok := c.index[name]
		if !ok {
			return o, wrong("workload.groups, the file of groups", "node %d (%.40q) calls the group %.20q, which is not known", n.id, n.name, name)
		}
		if c.Groups[group].In[rank] < 0 {
			return o, wrong("a group of its rank", "node %d (%.40q) calls the group %.20q, which rank %d is not in", n.id, n.name, name, rank)
		}
		if n.partly {
			c.note("collectives are of some of ASTRA-sim's dimensions (involved_dim), and are taken to be of all", 0)
		}
		o.Kind, o.Coll, o.Bytes, o.Group = Call, coll, size, group
		if coll == AllGather { // what one rank contributes
			o.Bytes *= int64(len(c.members(rank, &o)))
		}
	}
	return o, err
}

// roofline returns how long so many operations take, on so many bytes of memory.
func (c *chakra) roofline(work, bytes float64) (engine.Time, error) {
	if c.h.PeakTFLOPS == 0 {
		c.note("computations say their operations and no time, and take none: give peak_tflops and memory_bandwidth", 0)
		return 0, nil
	}
	if bytes == 0 {
		return 0, nil // as ASTRA-sim has it
	}
	s := work / (c.h.PeakTFLOPS * 1e12)
	if c.h.MemoryBandwidth > 0 {
		s = max(s, 8*bytes/float64(c.h.MemoryBandwidth))
	}
	d, err := engine.FromSeconds(s)
	if err != nil || d > mostTime {
		return 0, wrong("fewer operations, or a higher peak_tflops", "%.3g operations take %.3g s", work, s)
	}
	return d, nil
}
