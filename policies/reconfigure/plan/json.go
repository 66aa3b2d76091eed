package plan

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// WriteJSON writes plans as a JSON list, with one object per plan:
//
//	name        text
//	n, k        number of GPUs; links out of and into each
//	topologies  by phase: list of edges [from, to]; an edge that occurs twice is two links
//	slots       by phase: number of slots or steps
//	tx          list of transmissions or messages, one per line
//
// Members of all-to-alls, which are planned in slots:
//
//	relay       whether a chunk may rest at an intermediate GPU across a reconfiguration
//	chunks      n x n matrix: chunks from row to column
//	switches    by phase: switch of each edge; only if switches reconfigure independently
//	delay_slots slots that a switch is down before it changes; only with switches
//	buffer      Plan.Buffer
//	tx          [phase, slot, from, to, src, dst, chunk]
//
// Members of other collectives, which are planned in steps:
//
//	op          "all-reduce", "reduce-scatter" or "all-gather"
//	bytes       data per GPU; shard s of n has bytes/n, the first bytes mod n shards one byte more
//	parts       parts per shard; the first ones are one byte longer if there is a remainder
//	rate_bits_per_s, latency_ps, delay_ps
//	kinds       by phase: "scatter", "exchange", "gather" or "fold"; see Kind
//	reused      by phase: true if the links equal the links of the previous phase, without reconfiguration
//	open        by phase: true if an exchange continues in the next phase
//	longest     by phase: bytes of the longest message of each step
//	tx          [phase, step, from, to, pieces..]: the message on one link. A piece has four
//	            numbers: shard, from, to, origin. It is parts from..to-1 of the shard; in an
//	            exchange the sum of GPU origin, which is else -1
//
// The output is the same for the same plans. WriteJSON checks nothing; ReadJSON can read
// sealed plans.
func WriteJSON(w io.Writer, plans []*Plan) error {
	out := &jsonWriter{Writer: bufio.NewWriterSize(w, 1<<16)}
	out.WriteString("[")
	for i, p := range plans {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n")
		p.write(out)
	}

	out.WriteString("\n]\n")
	if out.err != nil {
		return out.err
	}
	return out.Flush() // the first error of all writes
}

// jsonWriter is a buffered writer that stores the first error of encoding.
type jsonWriter struct {
	*bufio.Writer
	err error // of a value that JSON cannot represent
}

// member writes a member as encoding/json does.
func (w *jsonWriter) member(key string, value any) {
	text, err := json.Marshal(value)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("plan: %s of a plan: %w", key, err)
	}
	fmt.Fprintf(w, `,"%s":%s`, key, text)
}

// write writes a plan as a JSON object.
func (p *Plan) write(out *jsonWriter) {
	name, _ := json.Marshal(p.Name) // any text can be encoded
	fmt.Fprintf(out, `{"name":%s,"n":%d,"k":%d`, name, p.GPUs, p.Degree)
	if s := p.Steps; s != nil {
		s.write(out)
	} else {
		fmt.Fprintf(out, `,"relay":%t,`, p.Relay)
		out.WriteString("\n\"chunks\":")
		rows(out, len(p.Chunks)/max(1, p.GPUs), "", func(b []byte, u int) []byte {
			return appendList(b, p.Chunks[u*p.GPUs:(u+1)*p.GPUs])
		})
	}

	out.WriteString(",\n\"topologies\":")
	rows(out, len(p.Topologies), "\n", func(b []byte, i int) []byte {
		b = append(b, '[')
		for j, e := range p.Topologies[i] {
			if j > 0 {
				b = append(b, ',')
			}
			b = appendList(b, []int32{e.From, e.To})
		}

		return append(b, ']')
	})

	if p.Switches != nil {
		out.WriteString(",\n\"switches\":")
		rows(out, len(p.Switches), "\n", func(b []byte, i int) []byte {
			return appendList(b, p.Switches[i])
		})
		fmt.Fprintf(out, ",\n\"delay_slots\":%d", p.DelaySlots)
	}

	fmt.Fprintf(out, ",\n\"slots\":%s", appendList(nil, p.Slots))
	if p.Steps == nil {
		fmt.Fprintf(out, ",\"buffer\":%d", p.Buffer)
	}
	out.WriteString(",\n\"tx\":")
	if p.Steps != nil {
		p.Steps.writeMessages(out)
	} else {
		rows(out, len(p.Tx), "\n", func(b []byte, i int) []byte {
			t := &p.Tx[i]
			return appendList(b, []int32{t.Phase, t.Slot, t.From, t.To, t.Src, t.Dst, t.Chunk})
		})
	}

	out.WriteString("}")
}

// write writes the members of a plan in steps.
func (s *Steps) write(out *jsonWriter) {
	var kinds []string
	var reused, open []bool
	var longest [][]int64
	for i := range s.Phases {
		f := &s.Phases[i]
		kinds = append(kinds, f.Kind.String())
		reused = append(reused, f.Reused)
		open = append(open, f.Open)
		longest = append(longest, f.MaxMessageBytes)
	}

	out.member("op", s.Op.String())
	out.member("bytes", s.Bytes)
	out.member("parts", s.Parts)
	out.member("rate_bits_per_s", s.Rate)
	out.member("latency_ps", s.Latency)
	out.member("delay_ps", s.Delay)
	out.member("kinds", kinds)
	out.member("reused", reused)
	out.member("open", open)
	out.member("longest", longest)
}

// writeMessages writes the member tx of a plan in steps.
func (s *Steps) writeMessages(out *jsonWriter) {
	out.WriteString("[")
	between, row := "\n", []int32(nil)
	for i := range s.Phases {
		list := s.Phases[i].Messages()
		for j := range list {
			m := &list[j]
			row = append(row[:0], m.Phase, m.Step, m.From, m.To)
			for _, e := range m.Pieces {
				row = append(row, e.Shard, e.From, e.To, e.Origin)
			}
			out.WriteString(between)
			out.Write(appendList(nil, row))
			between = ",\n"
		}
	}

	out.WriteString("]")
}

// rows writes a list with the given number of entries, each preceded by the text before.
func rows(out *jsonWriter, count int, before string, entry func(b []byte, i int) []byte) {
	b := []byte{'['}
	for i := range count {
		if i > 0 {
			b = append(b, ',')
		}
		b = entry(append(b, before...), i)
		out.Write(b)
		b = b[:0]
	}

	out.Write(append(b, ']'))
}

// appendList appends a JSON list of numbers.
func appendList(b []byte, list []int32) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(x), 10)
	}

	return append(b, ']')
}
