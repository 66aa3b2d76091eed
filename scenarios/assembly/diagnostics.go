// This file turns errors of other packages into diagnostics of keys.

package assembly

import "strings"

// SplitError splits an error of the form "problem; want remedy" into the text of a
// diagnostic. The remedy starts with "choose".
func SplitError(err error) (problem, remedy string) {
	problem, remedy, ok := strings.Cut(ErrorText(err), "; want ")
	if !ok {
		return problem, "choose other traffic"
	}
	return problem, "choose " + remedy
}

// ReportConflict reports an error as a conflict of the keys at paths. It returns false if
// err is nil.
func ReportConflict(c interface {
	Conflict(paths []string, problem, remedy string)
}, paths []string, err error) bool {
	if err == nil {
		return false
	}
	problem, remedy := SplitError(err)
	c.Conflict(paths, problem, remedy)
	return true
}

// ErrorText returns the text of an error for a diagnostic, without the name of its
// package.
func ErrorText(err error) string {
	text := err.Error()
	for _, prefix := range []string{
		"torus: no such shape: ",
		"torus: no such part: ",
		"torus: ",
		"graph: invalid list of links: ",
		"graph: ",
		"collective: no such traffic: ",
		"collective: no such call: ",
		"collective: ",
	} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
