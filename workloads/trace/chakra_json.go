package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// chJSONName is the name of a group in JSON, a string or a number.
type chJSONName string

// UnmarshalJSON reads a string or a number.
func (n *chJSONName) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(n))
	}
	var number json.Number
	err := json.Unmarshal(b, &number)
	*n = chJSONName(number)
	return err
}

// chJSONList is a JSON list of at most maxDependencies numbers.
type chJSONList []uint64

// UnmarshalJSON counts the numbers before it allocates memory for them.
func (l *chJSONList) UnmarshalJSON(b []byte) error {
	if count := 1 + bytes.Count(b, []byte{','}); count > maxDependencies() {
		return fmt.Errorf("a list of %d numbers, of at most %d", count, maxDependencies())
	} else if cap(*l) < count {
		*l = make(chJSONList, 0, count)
	}
	return json.Unmarshal(b, (*[]uint64)(l))
}

// chJSONNode is a node of the JSON variant. Optional numbers are pointers, because 0 is a
// valid value.
type chJSONNode struct {
	ID       uint64     `json:"Id"`
	Name     string     `json:"Name"`
	Kind     int64      `json:"NodeType"`  // chMeta to chColl
	Ctrl     chJSONList `json:"ctrlDeps"`  // ids of control dependencies
	Data     chJSONList `json:"data_deps"` // ids of data dependencies
	Runtime  uint64     `json:"runtime"`   // in microseconds
	CPU      bool       `json:"is_cpu_op"` // operation of the host
	CommType *int64     `json:"comm_type"`
	CommSize *int64     `json:"comm_size"`
	CommSrc  *int64     `json:"comm_src"`
	CommDst  *int64     `json:"comm_dst"`
	CommTag  *int64     `json:"comm_tag"`
	Ops      *int64     `json:"num_ops"`     // floating-point operations
	Tensor   *int64     `json:"tensor_size"` // bytes of memory traffic
	Stream   *int64     `json:"stream"`
	Group    chJSONName `json:"pg_name"`    // name of the process group
	Number   chJSONName `json:"comm_group"` // number of the process group, in other versions
}

// chVisitJSON visits the nodes of the JSON variant. Nodes are decoded one at a time, so
// that a large file needs little memory before its nodes are counted. Keys other than
// workload_graph and schema are only checked.
func chVisitJSON(f File, visit func(n *chNode) error) error {
	const what, want = "a Chakra trace", `{"workload_graph": [{"Id": 1, ...}]}`
	schema := ""    // its presence without a list of nodes marks PyTorch's host traces
	listed := false // the list of nodes has been read
	var g chJSONNode
	n := chNode{ints: map[string]int64{}}

	// node decodes one node and visits it.
	node := func(value []byte, offset int) error {
		// Reuse the memory of the previous node's lists.
		g = chJSONNode{Ctrl: g.Ctrl[:0], Data: g.Data[:0]}
		if err := json.Unmarshal(value, &g); err != nil {
			if typed := (*json.UnmarshalTypeError)(nil); errors.As(err, &typed) {
				typed.Field = strings.TrimSuffix("workload_graph."+typed.Field, ".")
			}
			return jsonError(f, offset, err, what, want)
		}

		// Convert the node to the form shared with the protobuf variant.
		clear(n.ints)
		n = chNode{id: g.ID, name: g.Name, kind: g.Kind, ctrl: g.Ctrl, data: g.Data,
			micros: g.Runtime, group: string(cmp.Or(g.Group, g.Number)), record: n.record + 1,
			offset: offset, ints: n.ints}

		if g.CPU {
			n.ints["is_cpu_op"] = 1
		}

		// Present numbers become attributes, as in the protobuf variant.
		for _, a := range [...]struct {
			name  string
			value *int64
		}{
			{"comm_type", g.CommType}, {"comm_size", g.CommSize}, {"comm_src", g.CommSrc},
			{"comm_dst", g.CommDst},
			{"comm_tag", g.CommTag}, {"num_ops", g.Ops}, {"tensor_size", g.Tensor}, {"stream", g.Stream},
		} {
			if a.value != nil {
				n.ints[a.name] = *a.value
			}
		}

		return visit(&n)
	}

	// Keys are compared without regard to case, as encoding/json does.
	r := jsonReader{data: f.Data}
	err := r.object(func(key string) error {
		switch {
		case strings.EqualFold(key, "workload_graph") && r.next() == '[':
			// The list of nodes.
			if listed {
				return &Error{File: f.Name, Record: 1, Byte: r.offset,
					Problem: "workload_graph occurs twice", Want: "one list of nodes"}
			}
			listed = true
			return r.array(func() error {
				value, offset, err := r.value()
				if err != nil {
					return err
				}
				return node(value, offset)
			})

		case strings.EqualFold(key, "schema"):
			value, offset, err := r.value()
			if err != nil {
				return err
			}
			if err := json.Unmarshal(value, &schema); err != nil {
				return jsonError(f, offset, err, what, want)
			}
			return nil

		default:
			value, offset, err := r.value()
			if err == nil && !json.Valid(value) ||
				strings.EqualFold(key, "workload_graph") && string(value) != "null" {
				return f.errorAtLine(offset, fmt.Sprintf("is not valid JSON of %s: the value of %.40q", what, key), want)
			}
			return err
		}
	})

	// Report syntax errors with their position.
	if fault := (jsonSyntaxError{}); errors.As(err, &fault) {
		return jsonError(f, firstByte, err, what, want)
	}

	// A host trace of PyTorch has a schema but no list of nodes.
	if err == nil && !listed && schema != "" {
		return &Error{File: f.Name, Record: 1,
			Problem: fmt.Sprintf("is what PyTorch wrote of the host (schema %.40q), which has no kernels and is not converted",
				schema),
			Want: "what chakra_trace_link and chakra_converter make of it"}
	}

	return err
}
