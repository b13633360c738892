# Brings goods to a street; the number of the parcel is that of the street's letters.
street=$(sed -n 's/.*<\([a-z0-9]*:\)\{0,1\}street>\([^<]*\)<.*/\2/p')
echo "<shipped xmlns=\"https://xml-pipeline.org/ns/courier/v1\"><parcel>to $street, parcel ${#street}</parcel></shipped>"
