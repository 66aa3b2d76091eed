// Package milp holds mixed-integer linear programs and has solvers solve them: a model that is built row by row, its
// writers (LP and MPS), the back ends HiGHS and CBC, run as subprocesses, and the models of the DELTA paper for the
// logical topology of optical circuit switches, with variable-length intervals (Sec. III-B) and with a fixed time step
// (App. A).
//
// It knows nothing of policies: what is to be decided comes as an Instance, and whether the answer holds in a
// simulation is for its caller to see.
package milp

import (
	"fmt"
	"math"
	"regexp"
	"slices"
)

// Sense says how a row's left side relates to its right side.
type Sense uint8

// The senses of a row.
const (
	AtMost Sense = iota
	AtLeast
	Equal
)

// Column is a variable. Columns of integers with bounds 0 and 1 are binary.
type Column struct {
	Name    string
	Low, Up float64 // Up may be +Inf
	Integer bool
	Cost    float64 // in the objective, which is minimised
}

// Term is a variable times a number.
type Term struct {
	Column int
	Factor float64
}

// Row is a linear constraint.
type Row struct {
	Name  string
	Terms []Term
	Sense Sense
	Right float64
}

// left returns the left side at a point.
func (r *Row) left(x []float64) float64 {
	sum := 0.0
	for _, t := range r.Terms {
		sum += t.Factor * x[t.Column]
	}
	return sum
}

// Model is a mixed-integer linear program: minimise the columns' costs subject to the rows. Columns and rows keep the
// order in which they were added, so that the same model is written as the same bytes.
type Model struct {
	Name    string
	Columns []Column
	Rows    []Row
}

// AddColumn appends a column and returns its index.
func (m *Model) AddColumn(c Column) int {
	m.Columns = append(m.Columns, c)
	return len(m.Columns) - 1
}

// AddRow appends a row. Terms of factor 0 are left out and those of one column joined; a row without terms is left out
// where it holds.
func (m *Model) AddRow(name string, sense Sense, right float64, terms ...Term) {
	merged := make([]Term, 0, len(terms))
	index := make(map[int]int, len(terms))
	for _, t := range terms {
		if k, ok := index[t.Column]; ok {
			merged[k].Factor += t.Factor
			continue
		}
		index[t.Column] = len(merged)
		merged = append(merged, t)
	}
	merged = slices.DeleteFunc(merged, func(t Term) bool { return t.Factor == 0 })
	if len(merged) > 0 || sense != AtLeast && right < 0 || sense != AtMost && right > 0 {
		m.Rows = append(m.Rows, Row{name, merged, sense, right})
	}
}

// Check fails where a column or row holds what no solver can read: a number that is none, bounds that cross, a column
// that does not exist, a name twice or one that a file format cannot hold.
func (m *Model) Check() error {
	names := map[string]bool{}
	name := func(kind, s string) error {
		if names[s] || len(s) > maxName || !validName.MatchString(s) {
			return fmt.Errorf("milp: a %s has the name %q, which is another's, or not of 1 to %d letters, digits and underscores", kind, s, maxName)
		}
		names[s] = true
		return nil
	}
	bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	for _, c := range m.Columns {
		if err := name("column", c.Name); err != nil {
			return err
		}
		if bad(c.Low) || bad(c.Cost) || math.IsNaN(c.Up) || c.Up < c.Low {
			return fmt.Errorf("milp: column %s has bounds %v..%v and cost %v", c.Name, c.Low, c.Up, c.Cost)
		}
	}
	for _, r := range m.Rows {
		if err := name("row", r.Name); err != nil {
			return err
		}
		if bad(r.Right) {
			return fmt.Errorf("milp: row %s has the right side %v", r.Name, r.Right)
		}
		if len(r.Terms) == 0 {
			return fmt.Errorf("milp: row %s cannot hold: it has no terms", r.Name)
		}
		for _, t := range r.Terms {
			if t.Column < 0 || t.Column >= len(m.Columns) || bad(t.Factor) {
				return fmt.Errorf("milp: row %s has the term %v", r.Name, t)
			}
		}
	}
	return nil
}

// maxName is the longest name that every reader takes.
const maxName = 100

var validName = regexp.MustCompile(`^[a-zA-Z0-9_]+$`)

// Integers returns the number of integer columns.
func (m *Model) Integers() int {
	n := 0
	for i := range m.Columns {
		if m.Columns[i].Integer {
			n++
		}
	}
	return n
}

// Value returns the objective at a point.
func (m *Model) Value(x []float64) float64 {
	v := 0.0
	for i := range m.Columns {
		v += m.Columns[i].Cost * x[i]
	}
	return v
}

// Violation returns by how much a point breaks the row, bound or integrality that it breaks most, in units of the
// largest number in that row (at least 1), and the name of that; 0 and "" where it breaks none.
func (m *Model) Violation(x []float64) (worst float64, name string) {
	note := func(v float64, n string) {
		if v > worst {
			worst, name = v, n
		}
	}
	for i := range m.Columns {
		c := &m.Columns[i]
		note((c.Low-x[i])/max(1, math.Abs(c.Low)), c.Name)
		if !math.IsInf(c.Up, 1) {
			note((x[i]-c.Up)/max(1, math.Abs(c.Up)), c.Name)
		}
		if c.Integer {
			note(math.Abs(x[i]-math.Round(x[i])), c.Name)
		}
	}
	for i := range m.Rows {
		r := &m.Rows[i]
		off, scale := r.left(x)-r.Right, max(1, math.Abs(r.Right))
		for _, t := range r.Terms {
			scale = max(scale, math.Abs(t.Factor))
		}
		switch r.Sense {
		case AtMost:
			note(off/scale, r.Name)
		case AtLeast:
			note(-off/scale, r.Name)
		default:
			note(math.Abs(off)/scale, r.Name)
		}
	}
	return worst, name
}
