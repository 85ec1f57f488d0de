"""The spatial belt: elements with six freedoms, two ring sets, a fixed and a loose sheave on each pulley."""
