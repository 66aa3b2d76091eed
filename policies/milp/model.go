// Package milp builds mixed-integer linear programs (MILP) and solves them with external
// programs.
//
// A Model has columns (variables) and rows (constraints). Solve writes it in MPS format and runs
// HiGHS or CBC as a subprocess (solver.go, highs.go, cbc.go). write.go also has the LP format.
//
// The package also has the models of the DELTA paper for the logical topology of optical circuit
// switches: VariableIntervalModel with intervals of variable length (Sec. III-B), and
// FixedStepModel with a fixed time step (App. A). Both extend slotModel. An Instance describes
// the decision; the caller verifies the resulting Schedule by simulation.
//
// Start reading with Model and Solve.
package milp

import (
	"fmt"
	"math"
	"regexp"
	"slices"
)

// Sense is the relation between the two sides of a row.
type Sense uint8

// Values of Sense: the left side is at most, at least, or equal to the right side.
const (
	LessOrEqual Sense = iota
	GreaterOrEqual
	Equal
)

// Column is a variable. An integer column with bounds 0 and 1 is binary.
type Column struct {
	Name    string
	Low, Up float64 // bounds; Up may be +Inf
	Integer bool
	Cost    float64 // coefficient in the objective, which is minimised
}

// Term is a multiple of a variable.
type Term struct {
	Column int // index in Model.Columns
	Factor float64
}

// Row is a linear constraint: the sum of Terms compared with Right.
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

// Model is a mixed-integer linear program: minimise the cost of the columns subject to the rows.
// Columns and rows keep the order in which they were added, so equal models give equal files.
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

// AddRow appends a row. Terms of one column are joined, and terms with factor 0 are removed. A
// row without terms is omitted if it holds.
func (m *Model) AddRow(name string, sense Sense, right float64, terms ...Term) {
	// Add up the terms of each column, in the order of their first occurrence.
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

	// A row without terms either always holds, and is omitted, or never; Check reports it then.
	if len(merged) > 0 || sense != GreaterOrEqual && right < 0 ||
		sense != LessOrEqual && right > 0 {
		m.Rows = append(m.Rows, Row{
			Name:  name,
			Terms: merged,
			Sense: sense,
			Right: right,
		})
	}
}

// Check verifies that solvers can read the model: numbers are finite, bounds are ordered, columns
// exist, and names are unique and valid.
func (m *Model) Check() error {
	names := map[string]bool{}

	// name checks and records the name of a column or row.
	name := func(kind, s string) error {
		if names[s] || len(s) > maxName || !validName.MatchString(s) {
			return fmt.Errorf("milp: a %s has the name %q; want a unique name of 1 to %d letters, digits and underscores", kind, s, maxName)
		}
		names[s] = true
		return nil
	}

	// bad reports whether a number is not finite.
	bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

	for _, c := range m.Columns {
		if err := name("column", c.Name); err != nil {
			return err
		}
		if bad(c.Low) || bad(c.Cost) || math.IsNaN(c.Up) || c.Up < c.Low {
			return fmt.Errorf("milp: column %s has bounds %v..%v and cost %v", c.Name,
				c.Low, c.Up,
				c.Cost)
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

// maxName is the longest name that every reader of MPS and LP files accepts.
const maxName = 100

// validName matches the names that both file formats allow.
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

// Violation returns the largest violation of a row, a bound or integrality at a point, and the
// name of its row or column. It is relative to the largest number in the row, if that is above 1.
// Without violations it returns 0 and "".
func (m *Model) Violation(x []float64) (worst float64, name string) {
	// note records a violation if it is the largest so far.
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

	// Rows, relative to their largest number.
	for i := range m.Rows {
		r := &m.Rows[i]
		off := r.left(x) - r.Right
		scale := max(1, math.Abs(r.Right))
		for _, t := range r.Terms {
			scale = max(scale, math.Abs(t.Factor))
		}

		switch r.Sense {
		case LessOrEqual:
			note(off/scale, r.Name)
		case GreaterOrEqual:
			note(-off/scale, r.Name)
		default:
			note(math.Abs(off)/scale, r.Name)
		}
	}

	return worst, name
}
