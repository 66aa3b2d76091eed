package assembly

import (
	"fmt"
)

// Plural counts things for titles: "1 pod", "2 pods".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// MostNamed is how many things of a kind a title names.
const MostNamed = 4
