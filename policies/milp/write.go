package milp

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
)

// formatNumber formats v such that it is read back exactly.
func formatNumber(v float64) string {
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// WriteMPS writes the model in free MPS format, which every MIP solver reads. It returns an error
// only if w does.
func (m *Model) WriteMPS(w io.Writer) error {
	// Errors of the writer are kept by b until Flush.
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "NAME %s FREE\nROWS\n N cost\n", m.Name)
	for i := range m.Rows {
		letter := [...]byte{LessOrEqual: 'L', GreaterOrEqual: 'G', Equal: 'E'}[m.Rows[i].Sense]
		fmt.Fprintf(b, " %c %s\n", letter, m.Rows[i].Name)
	}
	b.WriteString("COLUMNS\n")

	// MPS lists the coefficients by column.
	type entry struct {
		row    int
		factor float64
	}

	byColumn := make([][]entry, len(m.Columns))
	for r := range m.Rows {
		for _, t := range m.Rows[r].Terms {
			byColumn[t.Column] = append(byColumn[t.Column], entry{row: r, factor: t.Factor})
		}
	}

	// Integer columns are enclosed in markers. setInteger writes one if the kind of column changes.
	inInteger, markers := false, 0
	setInteger := func(isInteger bool) {
		if isInteger == inInteger {
			return
		}
		inInteger = isInteger
		name := "INTEND"
		if isInteger {
			name = "INTORG"
		}
		fmt.Fprintf(b, " MARKER%d 'MARKER' '%s'\n", markers, name)
		markers++
	}

	// The objective is row "cost".
	for i := range m.Columns {
		c := &m.Columns[i]
		setInteger(c.Integer)
		if c.Cost != 0 || len(byColumn[i]) == 0 { // every column must occur
			fmt.Fprintf(b, " %s cost %s\n", c.Name, formatNumber(c.Cost))
		}
		for _, e := range byColumn[i] {
			fmt.Fprintf(b, " %s %s %s\n", c.Name, m.Rows[e.row].Name,
				formatNumber(e.factor))
		}
	}

	setInteger(continuous) // closes the last markers

	// Right sides of 0 are the default.
	b.WriteString("RHS\n")
	for i := range m.Rows {
		if m.Rows[i].Right != 0 {
			fmt.Fprintf(b, " RHS %s %s\n", m.Rows[i].Name, formatNumber(m.Rows[i].Right))
		}
	}

	// The default bounds are 0 and infinity.
	b.WriteString("BOUNDS\n")
	for i := range m.Columns {
		c := &m.Columns[i]
		switch {
		case c.Integer && c.Low == 0 && c.Up == 1:
			fmt.Fprintf(b, " BV BND %s\n", c.Name)
			continue
		case c.Low == c.Up:
			fmt.Fprintf(b, " FX BND %s %s\n", c.Name, formatNumber(c.Low))
			continue
		}

		if c.Low != 0 {
			fmt.Fprintf(b, " LO BND %s %s\n", c.Name, formatNumber(c.Low))
		}
		if math.IsInf(c.Up, 1) {
			if c.Integer { // some readers default to an upper bound of 1
				fmt.Fprintf(b, " PL BND %s\n", c.Name)
			}
		} else {
			fmt.Fprintf(b, " UP BND %s %s\n", c.Name, formatNumber(c.Up))
		}
	}

	b.WriteString("ENDATA\n")
	return b.Flush()
}

// lineTerms is the number of terms per line of an LP file, since some readers have short line
// buffers.
const lineTerms = 6

// WriteLP writes the model in CPLEX LP format, for people and for solvers. It returns an error
// only if w does.
func (m *Model) WriteLP(w io.Writer) error {
	b := bufio.NewWriter(w)

	// Every term has one sign and a number without sign: CBC misreads "- -2 x".
	terms := func(list []Term) {
		for k, t := range list {
			if k > 0 && k%lineTerms == 0 {
				b.WriteString("\n  ")
			}
			sign := "+"
			if t.Factor < 0 {
				sign = "-"
			}
			fmt.Fprintf(b, " %s %s %s", sign, formatNumber(math.Abs(t.Factor)),
				m.Columns[t.Column].Name)
		}
	}

	// The objective must not be empty.
	var costs []Term
	for i := range m.Columns {
		if m.Columns[i].Cost != 0 {
			costs = append(costs, Term{i, m.Columns[i].Cost})
		}
	}

	if len(costs) == 0 && len(m.Columns) > 0 {
		costs = []Term{{Column: 0, Factor: 0}}
	}
	fmt.Fprintf(b, "\\ %s\nMinimize\n cost:", m.Name)
	terms(costs)
	b.WriteString("\nSubject To\n")

	for i := range m.Rows {
		r := &m.Rows[i]
		fmt.Fprintf(b, " %s:", r.Name)
		terms(r.Terms)
		relation := [...]string{LessOrEqual: "<=", GreaterOrEqual: ">=", Equal: "="}[r.Sense]
		fmt.Fprintf(b, " %s %s\n", relation, formatNumber(r.Right))
	}

	// Binary columns have no entry among the bounds.
	b.WriteString("Bounds\n")
	var binaries, generals []string
	for i := range m.Columns {
		c := &m.Columns[i]
		switch {
		case c.Integer && c.Low == 0 && c.Up == 1:
			binaries = append(binaries, c.Name)
			continue
		case c.Integer:
			generals = append(generals, c.Name)
		}

		switch {
		case c.Low == c.Up:
			fmt.Fprintf(b, " %s = %s\n", c.Name, formatNumber(c.Low))
		case math.IsInf(c.Up, 1) && c.Low != 0:
			fmt.Fprintf(b, " %s >= %s\n", c.Name, formatNumber(c.Low))
		case !math.IsInf(c.Up, 1):
			fmt.Fprintf(b, " %s <= %s <= %s\n", formatNumber(c.Low), c.Name,
				formatNumber(c.Up))
		}
	}

	for _, s := range []struct {
		head  string
		names []string
	}{{head: "Generals", names: generals}, {head: "Binaries", names: binaries}} {
		if len(s.names) == 0 {
			continue
		}
		b.WriteString(s.head + "\n")
		for _, n := range s.names {
			fmt.Fprintf(b, " %s\n", n)
		}
	}

	b.WriteString("End\n")
	return b.Flush()
}
