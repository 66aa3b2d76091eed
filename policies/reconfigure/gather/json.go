package gather

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/workloads/collective"
)

// planJSON is a plan in the format that WriteJSON describes. Members are pointers, so that missing ones are seen.
type planJSON struct {
	Format  *string      `json:"format"`
	Name    *string      `json:"name"`
	Op      *string      `json:"op"`
	GPUs    *int         `json:"n"`
	Degree  *int         `json:"k"`
	Bytes   *int64       `json:"bytes"`
	Parts   *int32       `json:"parts"`
	Rate    *float64     `json:"rate_bits_per_s"`
	Latency *engine.Time `json:"latency_ps"`
	Delay   *engine.Time `json:"delay_ps"`
	Phases  *[]phaseJSON `json:"phases"`
}

type phaseJSON struct {
	Kind     *string    `json:"kind"`
	Reused   *bool      `json:"reused"`
	Open     *bool      `json:"open"`
	Links    *[][]int32 `json:"links"`
	Longest  *[]int64   `json:"longest"`
	Messages *[]Tx      `json:"messages"`
}

const planFormat = "sim.gather/1"

// ErrPlan says that what was read is no plan.
var ErrPlan = errors.New("gather: no plan")

// MarshalJSON writes a message as [step, from, to, pieces]; its phase is that which it is listed in.
func (t Tx) MarshalJSON() ([]byte, error) {
	list := make([][]int32, len(t.Pieces))
	for i, p := range t.Pieces {
		if list[i] = []int32{p.Shard, p.From, p.To}; p.Origin >= 0 {
			list[i] = append(list[i], p.Origin)
		}
	}
	return json.Marshal([]any{t.Step, t.From, t.To, list})
}

// UnmarshalJSON reads what MarshalJSON writes, with an ErrPlan for anything else.
func (t *Tx) UnmarshalJSON(text []byte) error {
	var fields []json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || len(fields) != 4 {
		return fmt.Errorf("%w: message %.80s; want [step, from, to, pieces]", ErrPlan, text)
	}
	var pieces [][]int32
	for i, to := range []any{&t.Step, &t.From, &t.To, &pieces} {
		if err := json.Unmarshal(fields[i], to); err != nil {
			return fmt.Errorf("%w: message %.80s: %w", ErrPlan, text, err)
		}
	}
	t.Pieces = make([]Piece, len(pieces))
	for i, p := range pieces {
		if len(p) != 3 && len(p) != 4 {
			return fmt.Errorf("%w: message %.80s: piece %v; want [shard, from, to], or [shard, from, to, origin]", ErrPlan, text, p)
		}
		t.Pieces[i] = Piece{p[0], p[1], p[2], -1}
		if len(p) == 4 {
			t.Pieces[i].Origin = p[3]
		}
	}
	return nil
}

// WriteJSON writes the plan out in full, as a JSON object with
//
//	format        "sim.gather/1"
//	name          text
//	op            "all-reduce", "reduce-scatter" or "all-gather"
//	n, k          GPUs; links out of (and into) a GPU
//	bytes         of a GPU's data: shard s of n is bytes/n, the first bytes mod n of them a byte more
//	parts         into how many parts each shard is cut, the first ones a byte longer where it does not come out even
//	rate_bits_per_s, latency_ps, delay_ps
//	phases        list of
//	  kind        "scatter", "exchange", "gather" or "fold": see Kind
//	  reused      true if the links are those of the phase before, at no reconfiguration
//	  open        true if an exchange goes on in the next phase
//	  links       list of [u, v]; one that is listed twice is two links
//	  longest     list: bytes of the longest message of each step
//	  messages    list of [step, u, v, pieces], ordered by step: what crosses one link u -> v, a list of
//	              [shard, from, to]: parts from..to-1; in an exchange [shard, from, to, origin]
func (pl *Plan) WriteJSON(w io.Writer) error {
	p := &pl.Problem
	op, format := opName(p.Op), planFormat
	phases := make([]phaseJSON, len(pl.Phases))
	for i := range pl.Phases {
		f := &pl.Phases[i]
		kind, links, messages := f.Kind.String(), [][]int32{}, append([]Tx{}, pl.Transmissions(i)...)
		for _, e := range pl.Topology(i) {
			links = append(links, []int32{e.From, e.To})
		}
		phases[i] = phaseJSON{&kind, &f.Reused, &f.Open, &links, &f.Longest, &messages}
	}
	text, err := json.Marshal(planJSON{&format, &pl.Name, &op, &p.GPUs, &p.Degree, &p.Bytes, &pl.Parts, &p.Rate, &p.Latency, &p.Delay, &phases})
	if err != nil {
		return fmt.Errorf("gather: plan %s: %w", pl.Name, err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// ReadJSON reads a plan and checks it: ErrPlan where it is not in the format, with members missing or unknown, and what
// Plan.Check returns where it breaks a rule.
func ReadJSON(r io.Reader) (*Plan, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("gather: reading a plan: %w", err)
	}
	if err := noNulls(text); err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	var j planJSON
	if err := in.Decode(&j); err != nil {
		if errors.Is(err, ErrPlan) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more follows the plan, at byte %d", ErrPlan, in.InputOffset())
	}
	pl, err := j.plan()
	if err != nil {
		return nil, err
	}
	return pl, pl.Check()
}

// noNulls refuses null, which encoding/json would read as 0.
func noNulls(text []byte) error {
	for in := json.NewDecoder(bytes.NewReader(text)); ; {
		switch word, err := in.Token(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w, at byte %d", ErrPlan, err, in.InputOffset())
		case word == nil:
			return fmt.Errorf("%w: null at byte %d; want a value", ErrPlan, in.InputOffset())
		}
	}
}

func (j *planJSON) plan() (*Plan, error) {
	for name, missing := range j.missing() {
		if missing {
			return nil, fmt.Errorf("%w: it has no %q", ErrPlan, members[name])
		}
	}
	op := slices.Index(opNames[:], *j.Op)
	switch {
	case *j.Format != planFormat:
		return nil, fmt.Errorf("%w: format %q; want %q", ErrPlan, *j.Format, planFormat)
	case op < 0:
		return nil, fmt.Errorf("%w: op %q; want one of %q", ErrPlan, *j.Op, opNames)
	}
	pl := &Plan{Name: *j.Name, Parts: *j.Parts}
	pl.Problem = Problem{*j.GPUs, *j.Degree, collective.Op(op), *j.Bytes, *j.Rate, *j.Latency, *j.Delay, nil}
	for i, f := range *j.Phases {
		if f.Kind == nil || f.Reused == nil || f.Open == nil || f.Links == nil || f.Longest == nil || f.Messages == nil {
			return nil, fmt.Errorf("%w: phase %d lacks one of kind, reused, open, links, longest, messages", ErrPlan, i)
		}
		kind := slices.Index(kindNames[:], *f.Kind)
		if kind < 0 {
			return nil, fmt.Errorf("%w: phase %d is of kind %q; want one of %q", ErrPlan, i, *f.Kind, kindNames)
		}
		phase := Phase{Kind: Kind(kind), Reused: *f.Reused, Open: *f.Open, Longest: *f.Longest, tx: *f.Messages}
		for _, e := range *f.Links {
			if len(e) != 2 {
				return nil, fmt.Errorf("%w: phase %d has link %v; want [from, to]", ErrPlan, i, e)
			}
			phase.edges = append(phase.edges, scaleup.Edge{From: e[0], To: e[1]})
		}
		for k := range phase.tx {
			phase.tx[k].Phase = int32(i)
		}
		pl.Phases = append(pl.Phases, phase)
	}
	return pl, nil
}

var members = [...]string{"format", "name", "op", "n", "k", "bytes", "parts", "rate_bits_per_s", "latency_ps", "delay_ps", "phases"}

// missing says of each of members whether it is.
func (j *planJSON) missing() [len(members)]bool {
	return [...]bool{j.Format == nil, j.Name == nil, j.Op == nil, j.GPUs == nil, j.Degree == nil, j.Bytes == nil, j.Parts == nil,
		j.Rate == nil, j.Latency == nil, j.Delay == nil, j.Phases == nil}
}
