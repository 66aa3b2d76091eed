// Package csvfield makes text of unknown origin safe as fields of CSV files that people open
// in spreadsheets.
package csvfield

import (
	"math"
	"strconv"
	"strings"
)

// Safe returns the fields of a row so that no spreadsheet evaluates one as a formula. A field
// that begins with =, +, -, @, a tab or a carriage return and is not a finite number gets a
// leading apostrophe, which spreadsheets do not show.
func Safe(fields ...string) []string {
	row := make([]string, len(fields))
	for i, f := range fields {
		if row[i] = f; f != "" && strings.ContainsRune("=+-@\t\r", rune(f[0])) && !isNumber(f) {
			row[i] = "'" + f
		}
	}
	return row
}

// isNumber reports whether s is a finite number.
func isNumber(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}
