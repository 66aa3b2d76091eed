package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/collective"
)

// ErrJSON is returned for text that is not a JSON list of plans.
var ErrJSON = errors.New("plan: no plans in JSON")

// ReadJSON reads the output of WriteJSON, or one plan without a list, and returns the plans
// sealed and checked. name is the name of the file, for messages. These members are
// optional: relay (false), name, switches, delay_slots, and buffer, which is then computed.
//
// ErrJSON, with plan, member and entry, is returned for incomplete text or invalid JSON,
// for unknown, missing or duplicate members, for entries of another shape, and for numbers
// out of range. ErrBroken, with the transmission, is returned for plans that break a rule.
func ReadJSON(r io.Reader, name string) ([]*Plan, error) {
	in := json.NewDecoder(r)
	in.UseNumber()

	// fail returns ErrJSON with the file and the position. The texts of package json quote the
	// file, so they are replaced.
	fail := func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("the text ends at byte %d, in the middle", in.InputOffset())
		} else if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			err = fmt.Errorf("it is no JSON at byte %d", syntax.Offset)
		}
		return fmt.Errorf("%w: %s: %w", ErrJSON, name, err)
	}

	first, err := in.Token()
	if err != nil {
		return nil, fail(err)
	}
	if first != json.Delim('[') && first != json.Delim('{') {
		return nil, fail(errors.New("it does not begin with a list or an object; want a list of plans"))
	}

	// Read plan after plan; without a list, only one.
	plans := []*Plan{}
	for first == json.Delim('{') || in.More() {
		label := fmt.Sprintf("plan %d", len(plans))
		if first == json.Delim('[') {
			switch open, err := in.Token(); {
			case err != nil:
				return nil, fail(err)
			case open != json.Delim('{'):
				return nil, fail(fmt.Errorf("%s is no object; want one", label))
			}
		}

		p, present, err := readPlan(in)
		if err != nil {
			return nil, fail(fmt.Errorf("%s: %w", label, err))
		}

		// Seal computes Buffer, but a stored one counts.
		stored := p.Buffer
		if err = p.Seal(); err == nil && present["buffer"] {
			p.Buffer = stored
			err = p.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s %q: %w", name, label, p.Name, err)
		}
		if plans = append(plans, p); first == json.Delim('{') {
			break
		}
	}

	// Nothing follows the end of the list or of the plan.
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

// maxNameBytes limits the name of a plan, in bytes of JSON, because tables and figures show
// it.
const maxNameBytes = 400

// planMembers holds the members of a plan in JSON, as in the list at WriteJSON. build makes a
// Plan of them.
type planMembers struct {
	name, op       string
	n, k           int32
	relay          bool
	chunks         [][]int32
	topologies     [][][]int32
	slots          []int32
	switches       [][]int32
	delaySlots     int32
	buffer         int32
	bytes          int64
	parts          int32
	rate           float64
	latency, delay int64
	kinds          []string
	reused, open   []bool
	longest        [][]int64
	tx             [][]int32
}

// member describes a member of a plan: its key, where its value is stored, its description
// for messages, and in which plans it occurs.
type member struct {
	key         string
	target      any
	description string
	use         memberUse
}

// memberUse states in which plans a member occurs.
type memberUse uint8

const (
	usedAlways memberUse = iota
	usedInSlots
	usedInSteps
	optional // in plans in slots; name also in plans in steps
)

// members lists all members, with pointers to the fields of p.
func (p *planMembers) members() []member {
	const number, list, lists, truths = "a whole number", "a list of whole numbers",
		"a list of lists of whole numbers", "a list of true and false"
	return []member{
		{"name", &p.name, "a text", optional}, {"n", &p.n, number, usedAlways},
		{"k", &p.k, number, usedAlways},
		{"topologies", &p.topologies, "a list of lists of edges", usedAlways},
		{"slots", &p.slots, list, usedAlways}, {"tx", &p.tx, lists, usedAlways},
		{"chunks", &p.chunks, lists, usedInSlots}, {"relay", &p.relay, "true or false", optional},
		{"buffer", &p.buffer, number, optional},
		{"switches", &p.switches, lists, optional},
		{"delay_slots", &p.delaySlots, number, optional},
		{"op", &p.op, "a text", usedInSteps}, {"bytes", &p.bytes, number, usedInSteps},
		{"parts", &p.parts, number, usedInSteps},
		{"rate_bits_per_s", &p.rate, "a number", usedInSteps},
		{"latency_ps", &p.latency, number, usedInSteps},
		{"delay_ps", &p.delay, number, usedInSteps},
		{"kinds", &p.kinds, "a list of texts", usedInSteps},
		{"reused", &p.reused, truths, usedInSteps}, {"open", &p.open, truths, usedInSteps},
		{"longest", &p.longest, lists, usedInSteps},
	}
}

// readPlan reads the members of a plan whose brace has been read. It also returns which
// members are present.
func readPlan(in *json.Decoder) (*Plan, map[string]bool, error) {
	p, present := &planMembers{}, map[string]bool{}
	members := p.members()
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return nil, nil, err
		}
		key := token.(string) // the decoder returns only strings as keys
		index := slices.IndexFunc(members, func(m member) bool { return m.key == key })
		switch {
		case index < 0:
			return nil, nil, fmt.Errorf("a member of unknown name; want %s", memberNames(members))
		case present[key]:
			return nil, nil, fmt.Errorf("member %q comes twice", key)
		}

		present[key] = true
		var raw json.RawMessage
		if err := in.Decode(&raw); err != nil {
			return nil, nil, err
		}
		if err := decode(raw, members[index].target, members[index].description); err != nil {
			return nil, nil, fmt.Errorf("member %q: %w", key, err)
		}

		if key == "name" && len(raw) > maxNameBytes {
			return nil, nil, fmt.Errorf("member %q: it is %d bytes long; want at most %d", key,
				len(raw),
				maxNameBytes)
		}
	}

	// After the closing brace: "op" marks a plan in steps. Check which members it must have.
	if _, err := in.Token(); err != nil {
		return nil, nil, err
	}
	required, other := usedInSlots, usedInSteps
	if present["op"] {
		required, other = usedInSteps, usedInSlots
	}

	for _, m := range members {
		switch missing := !present[m.key]; {
		case missing && (m.use == usedAlways || m.use == required):
			return nil, nil, fmt.Errorf("member %q is missing", m.key)
		case !missing && (m.use == other || m.use == optional && m.key != "name" &&
			required == usedInSteps):
			return nil, nil, fmt.Errorf(`member %q: a plan with "op" goes in steps and has none of slots, one without in slots and has none of steps`, m.key)
		}
	}

	if present["delay_slots"] && !present["switches"] {
		return nil, nil, errors.New(`member "delay_slots" is of no use without "switches"`)
	}
	out, err := p.build()
	return out, present, err
}

// memberNames returns the keys of members, for messages.
func memberNames(members []member) string {
	list := make([]string, len(members))
	for i, m := range members {
		list[i] = m.key
	}
	return strings.Join(list, ", ")
}

// decode decodes a member. Its error names the first invalid entry.
func decode(raw []byte, into any, what string) error {
	// fails reports whether a value cannot be decoded. Package json accepts null as 0, but a plan
	// has none. A text may contain the word.
	fails := func(raw []byte, into any) bool {
		null := bytes.Contains(raw, []byte("null"))
		if raw[0] == '"' {
			null = false
		}
		return null || json.Unmarshal(raw, into) != nil
	}

	// Decode the value, or else find the first invalid entry of a list.
	if !fails(raw, into) {
		return nil
	}
	var list []json.RawMessage
	if kind := reflect.TypeOf(into).Elem(); kind.Kind() == reflect.Slice && json.Unmarshal(raw,
		&list) == nil {
		for i, entry := range list {
			if fails(entry, reflect.New(kind.Elem()).Interface()) {
				return fmt.Errorf("entry %d is none; want %s", i, what)
			}
		}
	}

	return fmt.Errorf("it has another value; want %s", what)
}

// build returns the plan.
func (p *planMembers) build() (*Plan, error) {
	out := &Plan{Name: p.name, GPUs: int(p.n), Degree: int(p.k), Slots: p.slots, Relay: p.relay,
		Switches: p.switches, DelaySlots: p.delaySlots, Buffer: p.buffer}
	for i, edges := range p.topologies {
		t := make(scaleup.Topology, 0, len(edges))
		for j, e := range edges {
			if len(e) != 2 {
				return nil, fmt.Errorf(`member "topologies": entry %d: edge %d is of %d numbers; want 2, from and to`, i, j, len(e))
			}
			t = append(t, scaleup.Edge{From: e[0], To: e[1]})
		}

		out.Topologies = append(out.Topologies, t)
	}

	if p.op != "" {
		return out, p.setSteps(out)
	}
	if len(p.chunks) != out.GPUs {
		return nil, fmt.Errorf(`member "chunks": %d rows; want n = %d`, len(p.chunks), out.GPUs)
	}
	for u, row := range p.chunks {
		if len(row) != out.GPUs {
			return nil, fmt.Errorf(`member "chunks": row %d has %d entries; want n = %d`, u,
				len(row), out.GPUs)
		}
		out.Chunks = append(out.Chunks, row...)
	}

	out.Tx = make([]Tx, 0, len(p.tx))
	for i, v := range p.tx {
		if len(v) != 7 {
			return nil, fmt.Errorf(`member "tx": entry %d is of %d numbers; want 7: phase, slot, from, to, source, destination, chunk`, i, len(v))
		}
		out.Tx = append(out.Tx, Tx{Phase: v[0], Slot: v[1], From: v[2], To: v[3], Src: v[4], Dst: v[5], Chunk: v[6]})
	}

	return out, nil
}

// setSteps sets the steps of the plan.
func (p *planMembers) setSteps(out *Plan) error {
	op, err := collective.ParseKind(p.op)
	if err != nil || !slices.Contains(Ops, op) {
		return fmt.Errorf(`member "op": it is not known; want one of %q`, Ops)
	}
	out.Steps = &Steps{
		Parts:  p.parts,
		Phases: make([]Phase, len(p.topologies)),
		Collective: Collective{
			GPUs: out.GPUs, Degree: out.Degree, Op: op, Bytes: p.bytes, Rate: p.rate,
			Latency: engine.Time(p.latency), Delay: engine.Time(p.delay),
		},
	}

	for _, count := range []int{len(p.kinds), len(p.reused), len(p.open), len(p.longest)} {
		if count != len(p.topologies) {
			return fmt.Errorf(`members "kinds", "reused", "open" and "longest": one has %d entries for %d topologies`, count, len(p.topologies))
		}
	}
	messages := make([][]Message, len(p.topologies))
	for i, v := range p.tx {
		if len(v) < 4 || len(v)%4 != 0 || v[0] < 0 || int(v[0]) >= len(messages) {
			return fmt.Errorf(`member "tx": entry %d is %v; want phase, step, from and to, and four numbers a piece: shard, from, to, origin`, i, v)
		}
		m := Message{Phase: v[0], Step: v[1], From: v[2], To: v[3]}
		for v = v[4:]; len(v) > 0; v = v[4:] {
			m.Pieces = append(m.Pieces, Piece{Shard: v[0], From: v[1], To: v[2], Origin: v[3]})
		}
		messages[m.Phase] = append(messages[m.Phase], m)
	}

	for i := range out.Steps.Phases {
		kind := slices.Index(kindNames[:], p.kinds[i])
		if kind < 0 {
			return fmt.Errorf(`member "kinds": entry %d is not known; want one of %q`, i, kindNames)
		}
		out.Steps.Phases[i] = Phase{
			Kind:            Kind(kind),
			Reused:          p.reused[i],
			Open:            p.open[i],
			MaxMessageBytes: p.longest[i],
			Messages: func() []Message {
				return messages[i]
			},
		}
	}

	return nil
}
