package result

import (
	"fmt"
	"strings"
)

// TierKinds is the label of a row that lists the kinds of the tiers of its machine, from the inside out.
const TierKinds = "tiers"

// Tier is what a row says of a tier of a machine.
type Tier struct {
	Name               string // its number from the inside out, and its kind
	Bytes, Busy        float64
	ExposedS, DoubledS float64
}

// Tiers returns what a row says of the tiers of its machine, from the inside out; none of other fabrics.
func Tiers(r *Row) (list []Tier) {
	kinds := strings.Split(r.Labels[TierKinds], ", ")
	for i := 1; ; i++ {
		of := func(what string) float64 { return r.Metrics[fmt.Sprintf("tier%d_%s", i, what)] }
		if _, ok := r.Metrics[fmt.Sprintf("tier%d_exposed_s", i)]; !ok {
			return list
		}
		t := Tier{fmt.Sprint(i), of("bytes"), of("busy"), of("exposed_s"), of("doubled_s")}
		if i <= len(kinds) {
			t.Name += " " + kinds[i-1]
		}
		list = append(list, t)
	}
}
