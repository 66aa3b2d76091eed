package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"sim/fabric/scaleup"
)

// ErrJSON says that a text holds no plans.
var ErrJSON = errors.New("plan: no plans in JSON")

// ReadJSON reads what WriteJSON writes, or one plan outside a list, and returns the plans sealed and checked. Name is the
// file's, for messages. relay may be left out (false), and name, switches, delay_slots, and buffer, which is then
// computed.
//
// Errors: ErrJSON, naming plan, member and entry, for text that is cut off or no JSON, members that are unknown, missing
// or come twice, entries of another shape and numbers out of range; ErrBroken, naming the transmission, for plans that
// break a rule.
func ReadJSON(r io.Reader, name string) ([]*Plan, error) {
	in := json.NewDecoder(r)
	in.UseNumber()
	fail := func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the text ends at byte %d, in the middle", in.InputOffset())
		}
		return fmt.Errorf("%w: %s: %w", ErrJSON, name, err)
	}
	first, err := in.Token()
	if err != nil {
		return nil, fail(err)
	}
	if first != json.Delim('[') && first != json.Delim('{') {
		return nil, fail(fmt.Errorf("it begins with %v; want a list of plans", first))
	}
	plans := []*Plan{}
	for first == json.Delim('{') || in.More() {
		label := fmt.Sprintf("plan %d", len(plans))
		if first == json.Delim('[') {
			switch open, err := in.Token(); {
			case err != nil:
				return nil, fail(err)
			case open != json.Delim('{'):
				if open == nil {
					open = "null"
				}
				return nil, fail(fmt.Errorf("%s is %v; want an object", label, open))
			}
		}
		p, err := readPlan(in)
		if err != nil {
			return nil, fail(fmt.Errorf("%s: %w", label, err))
		}
		if err := p.admit(); err != nil {
			return nil, fmt.Errorf("%s: %s %q: %w", name, label, p.Name, err)
		}
		if plans = append(plans, &p.Plan); first == json.Delim('{') {
			break
		}
	}
	if first == json.Delim('[') {
		if _, err := in.Token(); err != nil {
			return nil, fail(err)
		}
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, fail(fmt.Errorf("something follows at byte %d", in.InputOffset()))
	}
	return plans, nil
}

// mostName bounds the name of a plan, in bytes of JSON: it stands in tables and figures.
const mostName = 400

// read is a plan being read.
type read struct {
	Plan
	had map[string]bool
}

// admit seals and checks a plan that was read.
func (p *read) admit() error {
	claimed := p.Buffer
	if err := p.Seal(); err != nil || !p.had["buffer"] {
		return err
	}
	p.Buffer = claimed
	return p.Check()
}

var required = []string{"n", "k", "chunks", "topologies", "slots", "tx"}

// readPlan reads the members of a plan, whose brace is open.
func readPlan(in *json.Decoder) (*read, error) {
	p := &read{had: map[string]bool{}}
	var chunks nested
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // the decoder takes nothing else for a key
		if p.had[key] {
			return nil, fmt.Errorf("member %q comes twice", key)
		}
		p.had[key] = true
		var raw json.RawMessage
		if err := in.Decode(&raw); err != nil {
			return nil, err
		}
		if err := p.member(key, raw, &chunks); err != nil {
			return nil, fmt.Errorf("member %q: %w", key, err)
		}
	}
	if _, err := in.Token(); err != nil {
		return nil, err
	}
	for _, key := range required {
		if !p.had[key] {
			return nil, fmt.Errorf("member %q is missing", key)
		}
	}
	if p.had["delay_slots"] && !p.had["switches"] {
		return nil, errors.New(`member "delay_slots" is of no use without "switches"`)
	}
	return p, p.square(&chunks)
}

// member reads one member.
func (p *read) member(key string, raw []byte, chunks *nested) error {
	number := func(into *int32) error {
		var list nested
		if err := list.parse(raw, 0); err != nil {
			return err
		}
		*into = list.values[0]
		return nil
	}
	var size int32
	var list nested
	switch key {
	case "name":
		if len(raw) > mostName {
			return fmt.Errorf("it is %d bytes long; want at most %d", len(raw), mostName)
		}
		return text(raw, &p.Name)
	case "n":
		err := number(&size)
		p.GPUs = int(size)
		return err
	case "k":
		err := number(&size)
		p.Degree = int(size)
		return err
	case "relay":
		switch string(raw) {
		case "true":
			p.Relay = true
		case "false":
		default:
			return fmt.Errorf("it is %s; want true or false", clip(raw))
		}
		return nil
	case "buffer":
		return number(&p.Buffer)
	case "delay_slots":
		return number(&p.DelaySlots)
	case "chunks":
		return chunks.parse(raw, 2)
	case "slots":
		err := list.parse(raw, 1)
		p.Slots = list.values
		return err
	case "switches":
		err := list.parse(raw, 2)
		p.Switches = make([][]int32, 0, len(list.lengths))
		list.rows(func(row []int32) { p.Switches = append(p.Switches, row) })
		return err
	case "topologies":
		return p.edges(raw)
	case "tx":
		return p.transmissions(raw)
	}
	return fmt.Errorf("there is none of that name; want name, relay, switches, delay_slots, buffer, %s", strings.Join(required, ", "))
}

func (p *read) edges(raw []byte) error {
	var rows []json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil || rows == nil {
		return fmt.Errorf("it is %s; want a list of lists of edges", clip(raw))
	}
	for i, r := range rows {
		var list nested
		if err := list.parse(r, 2); err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		t := make(scaleup.Topology, 0, len(list.lengths))
		for e, length := range list.lengths {
			if length != 2 {
				return fmt.Errorf("entry %d: edge %d is of %d numbers; want 2, from and to", i, e, length)
			}
			t = append(t, scaleup.Edge{From: list.values[2*e], To: list.values[2*e+1]})
		}
		p.Topologies = append(p.Topologies, t)
	}
	return nil
}

func (p *read) transmissions(raw []byte) error {
	var list nested
	if err := list.parse(raw, 2); err != nil {
		return err
	}
	p.Tx = make([]Tx, 0, len(list.lengths))
	for i, length := range list.lengths {
		if length != 7 {
			return fmt.Errorf("entry %d is of %d numbers; want 7: phase, slot, from, to, source, destination, chunk", i, length)
		}
		v := list.values[7*i:]
		p.Tx = append(p.Tx, Tx{v[0], v[1], v[2], v[3], v[4], v[5], v[6]})
	}
	return nil
}

// square takes the demand over, which must be n x n.
func (p *read) square(chunks *nested) error {
	if len(chunks.lengths) != p.GPUs {
		return fmt.Errorf(`member "chunks": %d rows; want n = %d`, len(chunks.lengths), p.GPUs)
	}
	for u, length := range chunks.lengths {
		if int(length) != p.GPUs {
			return fmt.Errorf(`member "chunks": row %d has %d entries; want n = %d`, u, length, p.GPUs)
		}
	}
	p.Chunks = chunks.values
	return nil
}

func text(raw []byte, into *string) error {
	if raw[0] != '"' {
		return fmt.Errorf("it is %s; want a text", clip(raw))
	}
	return json.Unmarshal(raw, into)
}

func clip(raw []byte) string {
	const most = 40
	if raw = bytes.TrimSpace(raw); len(raw) > most {
		return string(raw[:most]) + ".."
	}
	return string(raw)
}

// nested is a number, a list of numbers, or a list of such lists, flat.
type nested struct {
	values  []int32
	lengths []int32 // of the inner lists
}

// rows calls do with each inner list.
func (l *nested) rows(do func(row []int32)) {
	at := int32(0)
	for _, length := range l.lengths {
		do(l.values[at : at+length : at+length])
		at += length
	}
}

// parse reads raw, which is valid JSON, as whole numbers of 32 bits in lists so deep (0 to 2).
func (l *nested) parse(raw []byte, deep int) error {
	at, entry := 0, 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == ',':
			i++
		case c == '[' && at < deep:
			if i++; at == 1 {
				l.lengths = append(l.lengths, 0)
			}
			at++
		case c == ']':
			if i++; at == 2 {
				entry++
			}
			at--
		case (c == '-' || c >= '0' && c <= '9') && at == deep:
			end := i + 1
			value := int64(0)
			if c != '-' {
				value = int64(c - '0')
			}
			for ; end < len(raw) && raw[end] >= '0' && raw[end] <= '9'; end++ {
				value = min(value*10+int64(raw[end]-'0'), math.MaxInt32+2)
			}
			if c == '-' {
				value = -value
			}
			part := end < len(raw) && (raw[end] == '.' || raw[end] == 'e' || raw[end] == 'E')
			if part || value > math.MaxInt32 || value < math.MinInt32 {
				return fmt.Errorf("entry %d: %s is no whole number of 32 bits", entry, clip(raw[i:]))
			}
			l.values = append(l.values, int32(value))
			if i = end; at == 2 {
				l.lengths[len(l.lengths)-1]++
			} else {
				entry++
			}
		default:
			shape := [...]string{"a whole number", "a list of whole numbers", "a list of lists of whole numbers"}
			return fmt.Errorf("entry %d: %s; want %s", entry, clip(raw[i:]), shape[deep])
		}
	}
	return nil
}
