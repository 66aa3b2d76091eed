package trace

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// chVisit visits the nodes of a file in order. The node is valid until visit returns. It
// has at most maxDependencies dependencies. A protobuf file is a sequence of messages,
// each preceded by its length as a varint. Its first message is the metadata.
func chVisit(f File, visit func(n *chNode) error) error {
	if bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return chVisitJSON(f, visit)
	}
	rest, record := f.Data, 0
	var n chNode
	for len(rest) > 0 {
		offset := len(f.Data) - len(rest)
		record++
		size, k := protowire.ConsumeVarint(rest)
		if k < 0 || size > uint64(len(rest)-k) {
			return &Error{File: f.Name, Record: record, Byte: offset,
				Problem: fmt.Sprintf("a message of %d bytes, and %d are left", size, len(rest)-max(0, k)),
				Want:    "a complete file"}
		}

		message := rest[k : k+int(size)]
		rest = rest[k+int(size):]

		// The first message is the metadata.
		if record == 1 {
			if err := chCheckVersion(message); err != nil {
				return locate(err, f.Name, record, offset)
			}
			continue
		}

		// Reuse the memory of the previous node.
		clear(n.ints)
		n = chNode{record: record, offset: offset, ctrl: n.ctrl[:0], data: n.data[:0], ints: n.ints}
		if err := n.decode(message); err != nil {
			return locate(err, f.Name, record, offset)
		}
		if err := visit(&n); err != nil {
			return err
		}
	}

	return nil
}

// chCheckVersion checks the first message, the metadata. Its field 1 is the version of
// the schema. Version 0.0.1 has different node fields and is rejected.
func chCheckVersion(b []byte) error {
	return chVisitFields(b, func(num protowire.Number, v chValue) error {
		if num == 1 && strings.HasPrefix(v.text(), "0.0.1") {
			return invalid("a trace of Chakra 1.0",
				"is of schema %.20q, as ASTRA-sim 1.0 and STG 0.0.1 write it", v.text())
		}
		return nil
	})
}

// chValue is the value of a protobuf field.
type chValue struct {
	typ   protowire.Type
	n     uint64 // value of a number
	bytes []byte // value of a string, message or packed list
}

// text returns a string value.
func (v chValue) text() string { return string(v.bytes) }

// list appends the numbers of a packed field, or the single number of an unpacked one, to
// to.
func (v chValue) list(to []uint64) ([]uint64, error) {
	if v.typ != protowire.BytesType {
		return append(to, v.n), nil
	}

	// Count the numbers before allocating memory for them.
	count := 0
	for _, b := range v.bytes {
		if b < 0x80 { // the last byte of a varint
			count++
		}
	}
	if len(to)+count > maxDependencies() {
		return nil, invalid(fmt.Sprintf("at most %d", maxDependencies()), "a list of %d numbers",
			len(to)+count)
	}

	to = slices.Grow(to, count)
	for b := v.bytes; len(b) > 0; {
		n, k := protowire.ConsumeVarint(b)
		if k < 0 {
			return nil, invalid("protobuf as Chakra 1.0 has it", "a list of numbers is cut off")
		}
		to, b = append(to, n), b[k:]
	}

	return to, nil
}

// chVisitFields visits the fields of a protobuf message, with their numbers and values.
// It accepts the wire types that Chakra uses.
func chVisitFields(b []byte, visit func(num protowire.Number, v chValue) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return invalid("protobuf as Chakra 1.0 has it", "a field is broken: %v",
				protowire.ParseError(n))
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
			return invalid("protobuf as Chakra 1.0 has it", "field %d has the wire type %d", num, typ)
		}

		if n < 0 {
			return invalid("protobuf as Chakra 1.0 has it", "field %d is cut off", num)
		}
		b = b[n:]
		if err := visit(num, v); err != nil {
			return err
		}
	}

	return nil
}

// Field numbers of the messages Node and AttributeProto of et_def.proto. An attribute has a name
// and one of the fields for a value, by the type of the value.
const (
	chID         protowire.Number = 1
	chName       protowire.Number = 2
	chType       protowire.Number = 3 // chMeta to chColl
	chControl    protowire.Number = 4 // ids of control dependencies
	chData       protowire.Number = 5 // ids of data dependencies
	chMicros     protowire.Number = 7 // duration in microseconds
	chInputs     protowire.Number = 8 // field 1 has their values
	chAttributes protowire.Number = 10

	chAttributeName protowire.Number = 1
	chDouble        protowire.Number = 3
	chFloat         protowire.Number = 5
	chInt32         protowire.Number = 7
	chInt64         protowire.Number = 9
	chUint32        protowire.Number = 11
	chUint64        protowire.Number = 13
	chSint32        protowire.Number = 15
	chSint64        protowire.Number = 17
	chFixed32       protowire.Number = 19
	chFixed64       protowire.Number = 21
	chSfixed32      protowire.Number = 23
	chSfixed64      protowire.Number = 25
	chBool          protowire.Number = 27
	chBools         protowire.Number = 28 // list of booleans
	chString        protowire.Number = 29
)

// decode reads a Node message.
func (n *chNode) decode(b []byte) error {
	return chVisitFields(b, func(num protowire.Number, v chValue) (err error) {
		switch {
		case num == chID && v.typ == protowire.VarintType:
			n.id = v.n
		case num == chName && v.typ == protowire.BytesType:
			n.name = v.text()
		case num == chType && v.typ == protowire.VarintType:
			n.kind = int64(v.n)
		case num == chControl:
			n.ctrl, err = v.list(n.ctrl)
		case num == chData:
			n.data, err = v.list(n.data)
		case num == chMicros:
			n.micros = v.n
		case num == chInputs && v.typ == protowire.BytesType:
			return chVisitFields(v.bytes, func(num protowire.Number, v chValue) error {
				if num == 1 {
					n.values = v.text()
				}
				return nil
			})

		case num == chAttributes && v.typ == protowire.BytesType:
			return n.attribute(v.bytes)
		case num <= chType:
			return invalid("a trace of Chakra 1.0",
				"field %d of a node is of another type, as in ASTRA-sim 1.0", num)
		}

		return err
	})
}

// chIntAttributes are the attributes that are stored in chNode.ints.
var chIntAttributes = []string{"is_cpu_op", "num_ops", "tensor_size", "comm_type", "comm_size",
	"comm_src", "comm_dst", "comm_tag", "comm_group", "stream", "tid", chPicoseconds, chDependency,
	chTaskNumber, chSendOrder}

// attribute reads an AttributeProto and stores it in n.ints if it is one of chIntAttributes.
func (n *chNode) attribute(b []byte) error {
	name := ""
	return chVisitFields(b, func(num protowire.Number, v chValue) error {
		var x int64
		switch num {
		case chAttributeName:
			name = v.text()
			return nil
		case chDouble:
			x = int64(math.Float64frombits(v.n))
		case chFloat:
			x = int64(math.Float32frombits(uint32(v.n)))
		case chInt32, chInt64, chUint32, chUint64, chFixed32, chFixed64, chSfixed64, chBool:
			x = int64(v.n)
		case chSint32, chSint64:
			x = protowire.DecodeZigZag(v.n)
		case chSfixed32:
			x = int64(int32(v.n))
		case chBools:
			if name == "involved_dim" {
				return chVisitFields(v.bytes, func(_ protowire.Number, v chValue) error {
					all, err := v.list(nil)
					n.hasPartialDims = n.hasPartialDims || slices.Contains(all, 0)
					return err
				})
			}
			return nil

		case chString:
			if name == "pg_name" || name == "comm_group" && n.group == "" {
				n.group = v.text()
			}
			return nil
		default:
			return nil
		}

		if slices.Contains(chIntAttributes, name) {
			if n.ints == nil {
				n.ints = map[string]int64{}
			}
			n.ints[name] = x
		}

		return nil
	})
}
