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

// Blame notes that the keys at paths are at fault for an error of traffic, and reports whether there is one.
func Blame(c interface {
	Clash(paths []string, problem, remedy string)
}, paths []string, err error) bool {
	if err == nil {
		return false
	}
	what, want := Wanted(err)
	c.Clash(paths, what, want)
	return true
}

// FaultText words an error for a fault: without the name of its package.
func FaultText(err error) string {
	text := err.Error()
	for _, prefix := range []string{"torus: no such shape: ", "torus: no such part: ", "torus: ", "graph: invalid list of links: ", "graph: ", "collective: no such traffic: ", "collective: no such call: ", "collective: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
