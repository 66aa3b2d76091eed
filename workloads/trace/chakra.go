package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// The types of nodes in Chakra's schema (mlcommons/chakra, et_def.proto).
const (
	chMeta = 1 + iota
	chLoad
	chStore
	chComp
	chSend
	chRecv
	chColl
)

// chCollectives maps Chakra's collective types to collectives.
var chCollectives = map[int64]Collective{0: AllReduce, 2: AllGather, 5: Broadcast, 6: AllToAll,
	7: ReduceScatter, 8: ReduceScatter, 9: Barrier}

// chUnsupported names the collective types that are rejected.
var chUnsupported = map[int64]string{1: "REDUCE", 3: "GATHER", 4: "SCATTER"}

// chNode is a node of an execution trace.
type chNode struct {
	id   uint64
	name string
	kind int64
	// Ids of the nodes on which it depends by control and by data.
	ctrl, data []uint64
	micros     uint64           // duration in microseconds
	values     string           // values of its inputs
	ints       map[string]int64 // integer attributes by name
	group      string           // name of the process group
	// hasPartialDims reports whether the node is a collective over only some dimensions of
	// ASTRA-sim's network.
	hasPartialDims bool
	// record is the number of its protobuf message or JSON node in the file, from 1.
	// offset is its byte in the file.
	record, offset int
}

// errorAt returns an Error at the node, which is in file f.
func (n *chNode) errorAt(f File, problem, want string) error {
	return &Error{File: f.Name, Record: n.record, Byte: n.offset, Problem: problem, Want: want}
}

// maxGroupRanks bounds groups x ranks. For each group, Group.SetOf stores 4 bytes per
// rank, 128 MiB in total.
const maxGroupRanks = 1 << 25

// isChakra reports whether a file starts like a Chakra trace: JSON with a workload graph,
// or a length-delimited protobuf message with a version or without fields.
func isChakra(begin []byte) bool {
	if text := bytes.TrimLeft(begin, " \t\r\n"); bytes.HasPrefix(text, []byte("{")) {
		return bytes.Contains(text, []byte("workload_graph")) || bytes.Contains(text, []byte("-chakra."))
	}

	// Protobuf: the length of the first message, followed by its fields or by the next
	// message.
	n, k := protowire.ConsumeVarint(begin)
	if k < 0 || n == 0 && len(begin) < 4 || n > math.MaxInt32 ||
		k+int(n) > len(begin) && len(begin) < detectBytes {
		return false
	}
	if meta := begin[k:min(len(begin), k+int(n))]; len(meta) > 0 {
		if len(begin) >= k+int(n) &&
			chVisitFields(meta, func(protowire.Number, chValue) error { return nil }) != nil {
			return false
		}
		num, typ, m := protowire.ConsumeTag(meta)
		return m > 0 && typ == protowire.BytesType && (num == 1 || num == 2)
	}

	// The next message is a node. Its first byte has the wire type of a field, 0 to 2, in
	// its lowest three bits, and above them the number of the field; see chNode.decode.
	_, m := protowire.ConsumeVarint(begin[k:])
	if m <= 0 || len(begin) <= k+m {
		return false
	}
	wireType, field := begin[k+m]&7, begin[k+m]>>3
	return wireType <= 2 && field >= 1 && field <= 10
}

// readChakra reads a Chakra trace with one file per rank.
func readChakra(files []File, h *ReadOptions) (*Job, error) {
	// As in ASTRA-sim, a message is sent whether its receive has started or not.
	j := &Job{Ranks: len(files), Ops: make([][]Op, len(files)), EagerBytes: MaxMessageBytes}

	c := &chakraReader{Job: j, options: h, sets: map[string][][]int32{}}
	if len(files) > MaxRanks {
		return nil, &Error{File: files[0].Name, Problem: fmt.Sprintf("%d ranks", len(files)),
			Want: fmt.Sprintf("at most %d", MaxRanks)}
	}
	if err := c.readGroupFile(); err != nil {
		return nil, err
	}

	// First pass: count nodes and read groups. Nothing else is stored until the counts
	// are checked.
	counts := make([]int, len(files)) // nodes by rank
	count, dependencies := 0, 0       // nodes and dependencies of all files
	c.rankGroups = map[string][]int32{}
	for rank, f := range files {
		clear(c.rankGroups)
		err := chVisit(f, func(n *chNode) error {
			counts[rank]++
			dependencies += len(n.ctrl) + len(n.data)
			if count++; count > MaxOperations {
				return countOperations(f.Name, count)
			}
			if dependencies > maxDependencies() {
				return &Error{File: f.Name,
					Problem: fmt.Sprintf("holds %d dependencies or more", dependencies),
					Want:    fmt.Sprintf("at most %d", maxDependencies())}
			}

			if n.kind < chMeta || n.kind > chColl {
				return n.errorAt(f, fmt.Sprintf("node %d (%.40q) is of type %d", n.id, n.name, n.kind),
					"a type from 1 to 7")
			}
			return c.readGroupNode(rank, f, n)
		})
		if err != nil {
			return nil, err
		}
	}

	// Second pass: create the operations.
	if err := c.makeGroups(files[0]); err != nil {
		return nil, err
	}
	for rank, f := range files {
		if err := c.readRank(rank, f, counts[rank]); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// chakraReader reads the files of a Chakra execution trace, one per rank. A file is a
// sequence of length-delimited protobuf messages, first the metadata and then one per
// node, or JSON:
//
//	{"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": 5, "data_deps": [0], ...}, ...]}
//
// Nodes are computations, memory accesses, messages and collectives, with dependencies by
// node id. The attributes in chIntAttributes describe them. Groups are in a separate file,
// or in metadata nodes as written by PyTorch's profiler.
//
// A file is read twice: readChakra counts nodes and reads groups, then readRank creates
// operations.
type chakraReader struct {
	*Job       // the result
	options    *ReadOptions
	sets       map[string][][]int32 // sets of ranks, by name of the group
	rankGroups map[string][]int32   // groups of the rank whose file is read, by name
	index      map[string]int32     // index in Job.Groups, by name
}

// readGroupFile reads the file of groups, which maps names to ranks.
func (c *chakraReader) readGroupFile() error {
	if c.options.GroupFile.Name == "" {
		return nil
	}
	var members map[string][]int32
	if err := json.Unmarshal(c.options.GroupFile.Data, &members); err != nil {
		return jsonError(c.options.GroupFile, firstByte, err, "groups", `{"1": [0, 1], "2": [2, 3]}`)
	}
	for name, ranks := range members {
		c.sets[name] = [][]int32{ranks}
	}
	return nil
}

// readGroupNode reads the groups in a metadata node of a rank, as written by PyTorch's
// profiler.
func (c *chakraReader) readGroupNode(rank int, f File, n *chNode) error {
	if n.kind != chMeta || !strings.Contains(n.name, "process_group:init") || len(n.values) < 4 {
		return nil
	}

	// The value is a JSON list in quotes and brackets.
	var groups []struct {
		Name  string  `json:"pg_name"`
		Ranks []int32 `json:"ranks"`
	}

	if err := json.Unmarshal([]byte(n.values[2:len(n.values)-2]), &groups); err != nil {
		return n.errorAt(f, "has groups that are no JSON: "+strings.TrimPrefix(err.Error(), "json: "),
			`[{"pg_name": "0", "ranks": [0, 1]}]`)
	}
	for _, g := range groups {
		if !slices.Contains(g.Ranks, int32(rank)) {
			// The default group of all ranks, or a group without this rank.
			continue
		}
		if before, known := c.rankGroups[g.Name]; known && !slices.Equal(before, g.Ranks) {
			return n.errorAt(f, fmt.Sprintf("rank %d is in two groups %.40q", rank, g.Name),
				"groups whose names differ")
		} else if known {
			continue
		}

		c.rankGroups[g.Name] = g.Ranks
		if !slices.ContainsFunc(c.sets[g.Name], func(s []int32) bool { return slices.Equal(s, g.Ranks) }) {
			c.sets[g.Name] = append(c.sets[g.Name], g.Ranks)
		}
	}

	return nil
}

// makeGroups creates the groups: first the group of all ranks, then the named ones.
func (c *chakraReader) makeGroups(f File) error {
	every := make([]int32, c.Ranks)
	for r := range every {
		every[r] = int32(r)
	}

	whole, _ := NewGroup("all", c.Ranks, [][]int32{every})
	c.Groups = append(c.Groups, whole)
	c.index = map[string]int32{"": 0, "0": 0} // both names stand for all ranks

	file := f.Name
	if c.options.GroupFile.Name != "" {
		file = c.options.GroupFile.Name
	}
	return c.addGroups(c.sets, c.index, file)
}

// addGroups adds a group for each name in sets, which has the sets of ranks of a group, and stores
// its number in index. file is the file with the groups.
func (j *Job) addGroups(sets map[string][][]int32, index map[string]int32, file string) error {
	// Bound the memory of Group.SetOf.
	if n := len(sets); n > maxGroupRanks/j.Ranks {
		return &Error{File: file, Problem: fmt.Sprintf("%d groups of %d ranks", n, j.Ranks),
			Want: fmt.Sprintf("at most %d", maxGroupRanks/j.Ranks)}
	}

	for _, name := range slices.Sorted(maps.Keys(sets)) {
		g, err := NewGroup(name, j.Ranks, sets[name])
		if err != nil {
			return &Error{File: file, Problem: err.Error(),
				Want: fmt.Sprintf("ranks from 0 to %d, each once", j.Ranks-1)}
		}

		index[name] = int32(len(j.Groups))
		j.Groups = append(j.Groups, g)
	}
	return nil
}
