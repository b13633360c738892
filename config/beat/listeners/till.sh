# Charges a sum. It does not check approvals: what reaches it may be charged.
total=$(sed -n 's/.*<\([a-z0-9]*:\)\{0,1\}total>\([0-9]*\)<.*/\2/p')
echo "<charged xmlns=\"https://xml-pipeline.org/ns/till/v1\"><total>$total</total></charged>"
