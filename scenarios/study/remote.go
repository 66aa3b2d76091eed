// This file sends cells to other machines as tasks, and reads their records. Package
// queue carries both.

package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/result"
)

// Task is a cell sent to another machine. It contains all files that the cell needs.
type Task struct {
	Key      string `json:"key"`
	Policy   string `json:"policy"`
	Model    int    `json:"model"`
	Scenario string `json:"scenario"` // resolved TOML
	// Files are the files named by the scenario, such as traces, keyed by path.
	Files map[string][]byte `json:"files,omitempty"`
}

// Task returns the task of cell i as JSON.
func (p *Plan) Task(i int) ([]byte, error) {
	s, err := p.Study.Variant(p.Variant[i])
	if err != nil {
		return nil, err
	}
	c := &p.Sweep.Cells[i]
	one := s.WithPolicy(c.Policy)
	files, err := one.CarriedFiles()
	if err != nil {
		return nil, err
	}
	return json.Marshal(Task{Key: c.Key, Policy: c.Policy, Model: result.Model, Scenario: string(one.TOML()), Files: files})
}

// RunTask computes a task made by Plan.Task and returns its Record as JSON. Anyone with
// access to the queue can send tasks, so no file of this machine is opened for one. A
// failing cell is a Record with Failed set. The error is for invalid tasks and other
// versions of the models.
func RunTask(ctx context.Context, task []byte) ([]byte, error) {
	var t Task
	if err := json.Unmarshal(task, &t); err != nil {
		return nil, fmt.Errorf("sweep: a task that cannot be read: %w", err)
	}
	if t.Model != result.Model {
		return nil, fmt.Errorf("sweep: the task is for version %d of the models, this sim has %d", t.Model, result.Model)
	}
	r, err := t.run(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r = &Record{Key: t.Key, Failed: err.Error(), InvalidInput: errors.Is(err, scenarios.ErrInput)}
	}
	return json.Marshal(r)
}

// run computes the task. The key protects against builds that interpret the scenario
// differently.
func (t *Task) run(ctx context.Context) (*Record, error) {
	s, err := scenarios.ParseWithFiles("cell.toml", []byte(t.Scenario), t.Files)
	if err != nil {
		return nil, err
	}
	if key := s.CellKey(); key != t.Key {
		return nil, fmt.Errorf("the scenario has key %s here, %s where it comes from: use one build of sim everywhere", key, t.Key)
	}
	built, err := scenarios.Prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	const workers = 1 // goroutines of a decision: other tasks use the other processors
	row, timings, err := built.Decide(ctx, t.Policy, workers)
	if err != nil {
		return nil, err
	}
	return newRecord(t.Key, built, row, timings), nil
}

// ReadRecord reads and verifies the result of RunTask, which comes from another machine.
// It rejects empty records and names or labels that are not printable.
func ReadRecord(data []byte) (*Record, error) {
	r := &Record{}
	if err := result.Decode(bytes.NewReader(data), int64(len(data)), r); err != nil {
		return nil, fmt.Errorf("sweep: a result that cannot be read: %w", err)
	}
	if r.Failed != "" {
		r.Failed = text.Line(r.Failed, maxReasonBytes)
		return r, nil
	}
	if len(r.Metrics)+len(r.Labels) == 0 {
		return nil, errors.New("sweep: a result without metrics")
	}
	// Names and labels are printed in tables.
	for _, names := range []iter.Seq[string]{maps.Keys(r.Reference), maps.Keys(r.Metrics), maps.Keys(r.Labels), maps.Keys(r.Samples)} {
		for name := range names {
			if line := text.Line(name, maxReasonBytes); line != name || name == "" {
				return nil, fmt.Errorf("sweep: a result with a metric %q", line)
			}
		}
	}
	for text := range maps.Values(r.Labels) {
		if !isPrintable(text) {
			return nil, errors.New("sweep: a result with a label that cannot be printed")
		}
	}
	if err := r.checkMetrics(); err != nil {
		return nil, fmt.Errorf("sweep: an impossible result: %w", err)
	}
	if r.Bounds != nil && slices.ContainsFunc(r.Bounds.Proofs, func(p result.ProvedBound) bool { return !isPrintable(p.Model) }) {
		return nil, errors.New("sweep: a result with a bound whose model cannot be printed")
	}
	return r, nil
}

// checkMetrics fails on metrics, samples and times that no run can have.
func (r *Record) checkMetrics() error {
	return errors.Join(result.CheckMetrics("the reference", nil, r.Reference), result.CheckMetrics("the cell", r.Samples, r.Metrics, r.Timings.Metrics()))
}

// isPrintable reports whether a text contains no control characters other than line ends.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' })
}

// maxReasonBytes is the maximum length of a remote failure reason and of a metric name: about
// four lines of a terminal.
const maxReasonBytes = 400
