package assembly

import "strings"

// SplitError parts an error of traffic into what is wrong and what would be right.
func SplitError(err error) (problem, remedy string) {
	problem, remedy, ok := strings.Cut(ErrorText(err), "; want ")
	if !ok {
		return problem, "choose other traffic"
	}
	return problem, "choose " + remedy
}

// ReportConflict notes that the keys at paths are at fault for an error of traffic, and reports whether there is one.
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

// ErrorText words an error for a fault: without the name of its package.
func ErrorText(err error) string {
	text := err.Error()
	for _, prefix := range []string{"torus: no such shape: ", "torus: no such part: ", "torus: ", "graph: invalid list of links: ", "graph: ", "collective: no such traffic: ", "collective: no such call: ", "collective: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
