package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
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

// chNode is a node of an execution trace.
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
	count := 0
	for _, f := range files {
		count += chCount(f)
		if err := countOperations(f.Name, count); err != nil {
			return nil, err
		}
	}
	nodes := make([][]chNode, len(files))
	for rank, f := range files {
		var err error
		if nodes[rank], err = chNodes(f); err != nil {
			return nil, err
		}
		if err = c.groupNodes(rank, f, nodes[rank]); err != nil {
			return nil, err
		}
	}
	if err := c.groups(files[0]); err != nil {
		return nil, err
	}
	for rank, f := range files {
		if err := c.rank(rank, f, nodes[rank]); err != nil {
			return nil, err
		}
		nodes[rank] = nil
	}
	return j, nil
}

type chakra struct {
	*Job
	h     *Hints
	sets  map[string][][]int32 // by name of a group
	index map[string]int32     // of it in Job.Groups
}

// chCount returns about how many nodes a file has, without reading them.
func chCount(f File) (n int) {
	if bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return bytes.Count(f.Data, []byte(`"NodeType"`))
	}
	for rest := f.Data; len(rest) > 0; n++ {
		size, k := protowire.ConsumeVarint(rest)
		if k < 0 || size > uint64(len(rest)-k) {
			break // it is told when it is read
		}
		rest = rest[k+int(size):]
	}
	return n
}

// chNodes reads the nodes of a file.
func chNodes(f File) (nodes []chNode, err error) {
	if bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return chJSON(f)
	}
	rest, record := f.Data, 0
	nodes = make([]chNode, 0, chCount(f))
	for len(rest) > 0 {
		at := len(f.Data) - len(rest)
		record++
		size, k := protowire.ConsumeVarint(rest)
		if k < 0 || size > uint64(len(rest)-k) {
			return nil, &Error{f.Name, record, at, fmt.Sprintf("a message of %d bytes, and %d are left", size, len(rest)-max(0, k)), "a whole file"}
		}
		message := rest[k : k+int(size)]
		rest = rest[k+int(size):]
		if record == 1 {
			if err := chVersion(message); err != nil {
				return nil, placed(err, f.Name, record, at)
			}
			continue
		}
		n := chNode{record: record, at: at}
		if err := n.decode(message); err != nil {
			return nil, placed(err, f.Name, record, at)
		}
		if n.kind < chMeta || n.kind > chColl {
			return nil, &Error{f.Name, record, at, fmt.Sprintf("node %d (%.40q) is of type %d", n.id, n.name, n.kind), "a type from 1 to 7"}
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
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

// chJSONNode is a node of the JSON variant.
type chJSONNode struct {
	ID       uint64   `json:"Id"`
	Name     string   `json:"Name"`
	Kind     int64    `json:"NodeType"`
	Ctrl     []uint64 `json:"ctrlDeps"`
	Data     []uint64 `json:"data_deps"`
	Runtime  uint64   `json:"runtime"`
	CPU      bool     `json:"is_cpu_op"`
	CommType *int64   `json:"comm_type"`
	CommSize *int64   `json:"comm_size"`
	CommSrc  *int64   `json:"comm_src"`
	CommDst  *int64   `json:"comm_dst"`
	CommTag  *int64   `json:"comm_tag"`
	Ops      *int64   `json:"num_ops"`
	Tensor   *int64   `json:"tensor_size"`
	Stream   *int64   `json:"stream"`
	Group    chName   `json:"pg_name"`
	Number   chName   `json:"comm_group"`
}

// chJSON reads the nodes of the JSON variant.
func chJSON(f File) (nodes []chNode, err error) {
	var all struct {
		Graph  []chJSONNode `json:"workload_graph"`
		Schema string       `json:"schema"` // of what PyTorch writes of the host
	}
	if err := json.Unmarshal(f.Data, &all); err != nil {
		return nil, jsonError(f, err, "a Chakra trace", `{"workload_graph": [{"Id": 1, ...}]}`)
	}
	if all.Graph == nil && all.Schema != "" {
		return nil, &Error{f.Name, 1, 0, fmt.Sprintf("is what PyTorch wrote of the host (schema %.40q), which has no kernels and is not converted", all.Schema), "what chakra_trace_link and chakra_converter make of it"}
	}
	nodes = make([]chNode, 0, len(all.Graph))
	for i := range all.Graph {
		g := &all.Graph[i]
		n := chNode{id: g.ID, name: g.Name, kind: g.Kind, ctrl: g.Ctrl, data: g.Data, micros: g.Runtime, group: string(cmp.Or(g.Group, g.Number)), record: i + 1}
		set := func(name string, v *int64) {
			if v == nil {
				return
			}
			if n.ints == nil {
				n.ints = map[string]int64{}
			}
			n.ints[name] = *v
		}
		if host := int64(1); g.CPU {
			set("is_cpu_op", &host)
		}
		set("comm_type", g.CommType)
		set("comm_size", g.CommSize)
		set("comm_src", g.CommSrc)
		set("comm_dst", g.CommDst)
		set("comm_tag", g.CommTag)
		set("num_ops", g.Ops)
		set("tensor_size", g.Tensor)
		set("stream", g.Stream)
		nodes = append(nodes, n)
		*g = chJSONNode{}
	}
	return nodes, nil
}

// groupFile reads the file of groups, by name their ranks.
func (c *chakra) groupFile() error {
	if c.h.GroupFile.Name == "" {
		return nil
	}
	var of map[string][]int32
	if err := json.Unmarshal(c.h.GroupFile.Data, &of); err != nil {
		return jsonError(c.h.GroupFile, err, "groups", `{"1": [0, 1], "2": [2, 3]}`)
	}
	for name, ranks := range of {
		c.sets[name] = [][]int32{ranks}
	}
	return nil
}

// groupNodes reads the groups that a rank's metadata has, as PyTorch's profiler says them.
func (c *chakra) groupNodes(rank int, f File, nodes []chNode) error {
	for i := range nodes {
		n := &nodes[i]
		if n.kind != chMeta || !strings.Contains(n.name, "process_group:init") || len(n.values) < 4 {
			continue
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
			if !slices.ContainsFunc(c.sets[g.Name], func(s []int32) bool { return slices.Equal(s, g.Ranks) }) {
				c.sets[g.Name] = append(c.sets[g.Name], g.Ranks)
			}
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

// rank makes the operations of a rank.
func (c *chakra) rank(rank int, f File, nodes []chNode) error {
	at := make(map[uint64]int32, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if _, twice := at[n.id]; twice {
			return &Error{f.Name, n.record, n.at, fmt.Sprintf("node %d is there twice", n.id), "ids that are used once"}
		}
		at[n.id] = int32(i)
	}
	ops, gpu, follows := make([]Op, len(nodes)), make([]bool, len(nodes)), make([]bool, len(nodes))
	control := make([][]int32, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		gpu[i] = n.kind >= chComp && n.ints["is_cpu_op"] == 0
		o, err := c.op(rank, n)
		if err != nil {
			return placed(err, f.Name, n.record, n.at)
		}
		for _, d := range n.data {
			k, ok := at[d]
			if !ok {
				return &Error{f.Name, n.record, n.at, fmt.Sprintf("node %d (%.40q) depends on the data of node %d, which is not there", n.id, n.name, d), "all nodes of the rank"}
			}
			o.After = append(o.After, k)
		}
		resolved := true
		for _, d := range n.ctrl {
			_, ok := at[d]
			resolved = resolved && ok
		}
		for _, d := range n.ctrl {
			switch {
			case !resolved:
			case at[d] != int32(i):
				control[i] = append(control[i], at[d])
			}
		}
		if !resolved {
			c.note("nodes have control dependencies that name no node: none of theirs is taken", 0)
		}
		ops[i] = o
	}
	if c.h.ControlCycles != "refuse" {
		for range dropContradictions(ops, control) {
			c.note("control dependencies close a cycle with data dependencies and are dropped", 0)
		}
	}
	for i := range ops {
		o := &ops[i]
		o.After = append(o.After, control[i]...)
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
		if some := slices.Contains(gpu, true); some && !slices.ContainsFunc(from, func(i int) bool { return gpu[i] && follows[i] }) {
			mode = "chained"
		}
	}
	switch mode {
	case "chained":
		number := map[int64]int32{} // of streams
		for k := range out {
			n := &nodes[from[k]]
			if !gpu[from[k]] || out[k].Kind == Recv {
				continue
			}
			s, ok := n.ints["stream"]
			if !ok {
				s = n.ints["tid"]
			}
			s = max(0, s)
			if number[s] == 0 {
				number[s] = int32(len(number) + 1)
			}
			out[k].Stream = number[s]
		}
	case "one-at-a-time":
		for k := range out {
			switch {
			case out[k].Kind == Recv || out[k].Kind == Join:
			case !gpu[from[k]]:
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
	default:
		err = wrong("from 1 to 7", "node %d (%.40q) is of type %d", n.id, n.name, n.kind)
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
