package plan

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// WriteJSON writes plans as a JSON list, one object a plan:
//
//	name        text
//	n, k        GPUs; links out of and into a GPU
//	relay       whether a chunk may rest at an intermediate GPU across a reconfiguration
//	chunks      n x n: chunks from row to column
//	topologies  by phase, a list of edges [from, to]
//	switches    by phase, the switch of each edge; only where switches reconfigure on their own
//	delay_slots slots that a switch is dark before it changes; only beside switches
//	slots       by phase
//	buffer      Plan.Buffer
//	tx          list of [phase, slot, from, to, src, dst, chunk], a line each
//
// The same plans make the same bytes. It checks nothing: sealed plans are read back as they are.
func WriteJSON(w io.Writer, plans []*Plan) error {
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString("[")
	for i, p := range plans {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n")
		if err := p.write(out); err != nil {
			return err
		}
	}
	out.WriteString("\n]\n")
	return out.Flush() // the first error of all that was written
}

func (p *Plan) write(out *bufio.Writer) error {
	name, err := json.Marshal(p.Name)
	if err != nil {
		return fmt.Errorf("plan: name of a plan: %w", err)
	}
	fmt.Fprintf(out, `{"name":%s,"n":%d,"k":%d,"relay":%t,`, name, p.GPUs, p.Degree, p.Relay)
	out.WriteString("\n\"chunks\":")
	rows(out, len(p.Chunks)/max(1, p.GPUs), "", func(b []byte, u int) []byte {
		return appendList(b, p.Chunks[u*p.GPUs:(u+1)*p.GPUs])
	})
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
		rows(out, len(p.Switches), "\n", func(b []byte, i int) []byte { return appendList(b, p.Switches[i]) })
		fmt.Fprintf(out, ",\n\"delay_slots\":%d", p.DelaySlots)
	}
	fmt.Fprintf(out, ",\n\"slots\":%s,\"buffer\":%d,\n\"tx\":", appendList(nil, p.Slots), p.Buffer)
	rows(out, len(p.Tx), "\n", func(b []byte, i int) []byte {
		t := &p.Tx[i]
		return appendList(b, []int32{t.Phase, t.Slot, t.From, t.To, t.Src, t.Dst, t.Chunk})
	})
	out.WriteString("}")
	return nil
}

// rows writes a list of so many entries, each after the text before.
func rows(out *bufio.Writer, count int, before string, entry func(b []byte, i int) []byte) {
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
