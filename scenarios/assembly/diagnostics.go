package assembly

import "strings"

// Wanted parts an error of traffic into what is wrong and what would be right.
func Wanted(err error) (what, want string) {
	what, want, ok := strings.Cut(FaultText(err), "; want ")
	if !ok {
		return what, "choose other traffic"
	}
	return what, "choose " + want
}

// FaultText words an error for a fault: without the name of its package.
func FaultText(err error) string {
	text := err.Error()
	for _, prefix := range []string{"torus: no such shape: ", "torus: no such part: ", "torus: ", "graph: invalid list of links: ", "graph: ", "collective: no such traffic: ", "collective: no such call: ", "collective: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
